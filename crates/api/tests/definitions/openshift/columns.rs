//! `kubectl get` prints OpenShift's columns and a few more, and `kubectl scale` finds the same numbers.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::openshift::server::{KINDS, Server, Whose};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const NAME: &str = "columns";

/// The type and the cell of each column, without the age, which differs by a second now and then.
async fn table(
    server: &Server,
    whose: Whose,
    plural: &str,
) -> Result<BTreeMap<String, (Value, Value)>> {
    let table = server.read(whose, plural, &format!("/{NAME}"), TABLE).await?;
    let columns = table["columnDefinitions"].as_array().context("no columns")?;
    let cells = table["rows"][0]["cells"].as_array().context("no cells")?;
    let described = columns.iter().zip(cells).map(|(column, cell)| {
        let name = column["name"].as_str().unwrap_or_default().to_owned();
        (name, (column["type"].clone(), cell.clone()))
    });
    Ok(described.filter(|(name, _)| name != "Age").collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_have_the_same_columns_and_more_and_scales_are_the_same() -> Result<()> {
    let server = Server::get().await?;
    let status = json!({
        "phase": "Running", "nodeRef": {"name": "node-1"},
        "replicas": 4, "readyReplicas": 3, "availableReplicas": 2, "labelSelector": "a=b",
    });
    let spec = json!({"replicas": 5, "providerID": "aws:///eu-west-1a/i-1"});
    for kind in KINDS {
        let mut tables = Vec::new();
        let mut scales = Vec::new();
        for whose in Whose::ALL {
            let object = server.create(whose, kind, (NAME, ""), Some(&spec)).await?.object()?;
            server.set_status(whose, kind, &object, &status).await?.object()?;
            tables.push(table(&server, whose, kind.0).await?);
            if kind.1 == "MachineSet" {
                let path = format!("/{NAME}/scale");
                let scale = server.read(whose, kind.0, &path, "application/json").await?;
                scales.push((scale["spec"].clone(), scale["status"].clone()));
            }
        }
        let (ours, openshifts) = tables.split_first().context("no tables")?;
        for theirs in openshifts {
            assert!(theirs.len() >= 5, "{theirs:?}");
            let same = theirs.iter().all(|(name, column)| ours.get(name) == Some(column));
            assert!(same, "{ours:#?} {theirs:#?}");
        }
        let more = ["Reason", "Type"];
        assert!(more.iter().all(|name| ours.contains_key(*name)), "{ours:#?}");
        let wanted = (json!({"replicas": 5}), json!({"replicas": 4, "selector": "a=b"}));
        assert!(scales.iter().all(|scale| *scale == wanted), "{scales:?}");
    }
    Ok(())
}
