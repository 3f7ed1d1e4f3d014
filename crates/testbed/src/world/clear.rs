//! What a world leaves on an API server that is shared would be listed and watched by every world after it.

use anyhow::Result;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams};

use super::World;

impl World {
    /// Deletes the Events, Pods and Nodes of this world. Its other objects have ended with its scenario.
    pub(crate) async fn clear(&self) -> Result<()> {
        let (at_once, all) = (DeleteParams::default().grace_period(0), ListParams::default());
        self.api::<Event>().delete_collection(&at_once, &all).await?;
        self.api::<Pod>().delete_collection(&at_once, &all).await?;
        let Some(aws) = &self.aws else { return Ok(()) };
        // Events about what has no namespace, such as Nodes.
        let events: Api<Event> = Api::namespaced(self.client.clone(), "default");
        let about =
            |name: &str| ListParams::default().fields(&format!("involvedObject.name={name}"));
        events.delete_collection(&at_once, &about(&self.namespace)).await?;
        let nodes: Api<Node> = Api::all(self.client.clone());
        for instance in aws.estate.instances().await? {
            if nodes.delete(&instance.id, &at_once).await.is_ok() {
                events.delete_collection(&at_once, &about(&instance.id)).await?;
            }
        }
        Ok(())
    }
}
