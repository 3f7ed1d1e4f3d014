//! `kubectl get` prints the same table, and `kubectl scale` finds the same numbers.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::openshift::server::{KINDS, Server, Whose};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const NAME: &str = "columns";

/// The columns without their explanations, and the cells without the age, which differs by a second now and then.
async fn table(server: &Server, whose: Whose, plural: &str) -> Result<(Vec<Value>, Vec<Value>)> {
    let table = server.read(whose, plural, &format!("/{NAME}"), TABLE).await?;
    let columns = table["columnDefinitions"].as_array().context("no columns")?;
    let cells = table["rows"][0]["cells"].as_array().context("no cells")?;
    let defined: Vec<Value> = columns
        .iter()
        .map(|column| json!([column["name"], column["type"], column["priority"]]))
        .collect();
    let cells = columns.iter().zip(cells).filter(|(column, _)| column["name"] != "Age");
    Ok((defined, cells.map(|(_, cell)| cell.clone()).collect()))
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_scales_are_the_same() -> Result<()> {
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
        let (columns, cells) = &tables[0];
        assert!(columns.len() >= 6 && !cells.is_empty(), "{columns:?}");
        assert!(tables.iter().all(|table| *table == tables[0]), "{tables:#?}");
        let wanted = (json!({"replicas": 5}), json!({"replicas": 4, "selector": "a=b"}));
        assert!(scales.iter().all(|scale| *scale == wanted), "{scales:?}");
    }
    Ok(())
}
