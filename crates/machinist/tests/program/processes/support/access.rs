//! What an account may do: it tries, and the API server answers.

use anyhow::{Result, ensure};
use kube::Client;
use kube::api::{DeleteParams, GetParams, ListParams};
use kube::core::Request;

/// What may be tried with an object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Attempt {
    Get,
    /// A list with the name as field selector. A watch is the same to RBAC.
    ListIt,
    ListAll,
    Delete,
}

/// The object can be got and listed by its name.
pub(crate) async fn may_look_at(client: &Client, collection: &str, name: &str) -> Result<()> {
    for attempt in [Attempt::Get, Attempt::ListIt] {
        let code = answer(client, collection, name, attempt).await?;
        ensure!(code == 200 || code == 404, "{attempt:?} {name} in {collection}: {code}");
    }
    Ok(())
}

/// The object can be got by its name, and that is all.
pub(crate) async fn may_only_get(client: &Client, collection: &str, name: &str) -> Result<()> {
    let code = answer(client, collection, name, Attempt::Get).await?;
    ensure!(code == 200 || code == 404, "get {name} in {collection}: {code}");
    for attempt in [Attempt::ListIt, Attempt::ListAll, Attempt::Delete] {
        let code = answer(client, collection, name, attempt).await?;
        ensure!(code == 403, "{attempt:?} {name} in {collection}: {code}");
    }
    Ok(())
}

/// The object cannot be seen in any way.
pub(crate) async fn may_not_look_at(client: &Client, collection: &str, name: &str) -> Result<()> {
    for attempt in [Attempt::Get, Attempt::ListIt, Attempt::ListAll] {
        let code = answer(client, collection, name, attempt).await?;
        ensure!(code == 403, "{attempt:?} {name} in {collection}: {code}");
    }
    Ok(())
}

/// The code that the API server answers an attempt with.
pub(crate) async fn answer(
    client: &Client,
    collection: &str,
    name: &str,
    attempt: Attempt,
) -> Result<u16> {
    let request = Request::new(collection);
    let by_name = ListParams::default().fields(&format!("metadata.name={name}"));
    let request = match attempt {
        Attempt::Get => request.get(name, &GetParams::default()),
        Attempt::ListIt => request.list(&by_name),
        Attempt::ListAll => request.list(&ListParams::default()),
        Attempt::Delete => request.delete(name, &DeleteParams::default()),
    };
    match client.request_text(request?).await {
        Ok(_) => Ok(200),
        Err(kube::Error::Api(status)) => Ok(status.code),
        Err(error) => Err(error.into()),
    }
}
