//! Our schemas are OpenShift's, rule for rule. The differences are listed here, and there must be no others.

use anyhow::{Context, Result};
use machinist_testbed::openshift::{FeatureSet, openshift_health_check_crd};
use serde_json::{Map, Value};

use crate::openshift::server::{KINDS, Whose};

/// Where ours differs from OpenShift's with all gates open, and why.
const DIFFERENCES: &[&str] = &[
    // What every object has; the API server adds it by itself.
    "- /openAPIV3Schema/properties/apiVersion",
    "- /openAPIV3Schema/properties/kind",
    "- /openAPIV3Schema/properties/metadata",
    // Without the gate there is no such field, so an object without it must come back without it.
    "- /openAPIV3Schema/properties/spec/properties/authoritativeAPI/default",
    "- /openAPIV3Schema/properties/spec/properties/template/properties/spec/properties/authoritativeAPI/default",
    // Ours, for cluster-autoscaler.
    "+ /openAPIV3Schema/properties/status/properties/failureMessage",
    "+ /openAPIV3Schema/properties/status/properties/failureReason",
];

#[tokio::test]
async fn only_the_known_differences() -> Result<()> {
    let mut found = Vec::new();
    for (plural, _) in KINDS {
        let ours = Whose::Ours.definition(plural).await?;
        let theirs = Whose::OpenShifts(FeatureSet::CustomNoUpgrade).definition(plural).await?;
        let version = |definition: &Value, part| definition["spec"]["versions"][0][part].clone();
        compare("", &version(&theirs, "schema"), &version(&ours, "schema"), &mut found);
        for part in ["subresources", "served", "storage"] {
            assert_eq!(version(&theirs, part), version(&ours, part), "{part} of {plural}");
        }
        assert_eq!(theirs["spec"]["scope"], ours["spec"]["scope"]);
        assert_eq!(theirs["spec"]["names"]["kind"], ours["spec"]["names"]["kind"]);
        assert_eq!(theirs["spec"]["names"]["singular"], ours["spec"]["names"]["singular"]);
    }
    found.sort();
    found.dedup();
    let mut known = DIFFERENCES.to_vec();
    known.sort_unstable();
    assert_eq!(found, known);
    Ok(())
}

#[tokio::test]
async fn health_checks_have_no_other_differences_and_all_columns() -> Result<()> {
    let theirs = openshift_health_check_crd().await?;
    let mut all = machinist_api::crds().into_iter();
    let ours = all.find(|crd| crd.spec.names.kind == "MachineHealthCheck").context("ours")?;
    let ours = serde_json::to_value(ours)?;
    let version = |definition: &Value, part| definition["spec"]["versions"][0][part].clone();
    let mut found = Vec::new();
    compare("", &version(&theirs, "schema"), &version(&ours, "schema"), &mut found);
    // What every object has.
    assert_eq!(found, DIFFERENCES[..3]);
    for part in ["subresources", "served", "storage"] {
        assert_eq!(version(&theirs, part), version(&ours, part), "{part}");
    }
    for part in ["kind", "plural", "singular", "shortNames"] {
        assert_eq!(theirs["spec"]["names"][part], ours["spec"]["names"][part], "{part}");
    }
    let columns = |definition: &Value| {
        let columns = version(definition, "additionalPrinterColumns");
        let columns = columns.as_array().into_iter().flatten();
        columns.map(|it| ["name", "type", "jsonPath"].map(|part| it[part].clone())).collect()
    };
    let (theirs, ours): (Vec<_>, Vec<_>) = (columns(&theirs), columns(&ours));
    assert!(theirs.iter().all(|column| ours.contains(column)), "{theirs:?} {ours:?}");
    Ok(())
}

/// Notes what is only there (`-`), only here (`+`), or different (`~`). Words for people do not count.
fn compare(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let missing = |from: &Map<String, Value>, name: &str| !from.contains_key(name);
            for (name, value) in theirs {
                match ours.get(name) {
                    Some(ours) => compare(&format!("{path}/{name}"), value, ours, found),
                    None if for_people(name, value) => {}
                    None => found.push(format!("- {path}/{name}")),
                }
            }
            for (name, value) in ours {
                if missing(theirs, name) && !for_people(name, value) {
                    found.push(format!("+ {path}/{name}"));
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            for (n, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                compare(&format!("{path}/{n}"), theirs, ours, found);
            }
        }
        _ if for_people(path.rsplit('/').next().unwrap_or_default(), theirs) => {}
        _ if theirs == ours || theirs.as_f64().is_some_and(|it| Some(it) == ours.as_f64()) => {}
        _ => found.push(format!("~ {path}")),
    }
}

fn for_people(name: &str, value: &Value) -> bool {
    ["description", "message"].contains(&name) && value.is_string()
}
