use serde_json::value::RawValue;

use crate::conformance::scene::{Checked, Scene, ensure};
use crate::spec::SpecError;

pub(super) async fn the_spec_half_reads_its_own_kind_and_nothing_else(
    scene: &Scene<'_>,
) -> Checked {
    let specs = scene.bed.specs();
    let good = scene.bed.good_spec();
    ensure(!specs.kinds().is_empty(), || "it has no kinds, so it is never chosen".to_owned())?;
    let problems = specs.validate(&good);
    ensure(problems.is_empty(), || format!("the good spec has problems: {problems:?}"))?;
    specs.shape(&good).map_err(|error| format!("the good spec has no shape: {error}"))?;
    for bad in ["null", "[]", "5", "\"text\""] {
        let raw = RawValue::from_string(bad.to_owned()).map_err(|error| error.to_string())?;
        ensure(specs.shape(&raw).is_err(), || format!("{bad} has a shape"))?;
        ensure(!specs.validate(&raw).is_empty(), || format!("{bad} has no problems"))?;
    }
    let foreign = r#"{"apiVersion":"example.com/v1","kind":"NobodysKind"}"#;
    let raw = RawValue::from_string(foreign.to_owned()).map_err(|error| error.to_string())?;
    match specs.shape(&raw) {
        Err(SpecError::ForeignKind { .. }) => Ok(()),
        other => Err(format!("a foreign kind is {other:?}")),
    }
}
