use anyhow::{Context, Result};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams};

use super::World;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventFacts {
    pub about: String,
    pub reason: String,
    pub note: String,
    /// `Normal` or `Warning`.
    pub kind: String,
}

impl World {
    pub async fn events(&self) -> Result<Vec<EventFacts>> {
        let mut facts = Vec::new();
        for event in self.api::<Event>().list(&ListParams::default()).await? {
            let about = event.regarding.and_then(|regarding| regarding.name);
            facts.push(EventFacts {
                about: about.context("an Event about nothing")?,
                reason: event.reason.unwrap_or_default(),
                note: event.note.unwrap_or_default(),
                kind: event.type_.unwrap_or_default(),
            });
        }
        facts.sort();
        Ok(facts)
    }

    pub async fn event_reasons(&self, name: &str) -> Result<Vec<String>> {
        let events = self.events().await?.into_iter();
        Ok(events.filter(|event| event.about == name).map(|event| event.reason).collect())
    }

    pub async fn event_notes(&self, name: &str, reason: &str) -> Result<Vec<String>> {
        let mut events = self.events().await?;
        events.retain(|event| event.about == name && event.reason == reason);
        Ok(events.into_iter().map(|event| event.note).collect())
    }

    pub async fn until_event(&self, name: &str, reason: &str) -> Result<String> {
        self.eventually(&format!("{reason} about {name}"), || async {
            let events = self.events().await?;
            let mut found = events.iter().filter(|one| one.about == name && one.reason == reason);
            Ok(found.next().with_context(|| format!("{events:?}"))?.note.clone())
        })
        .await
    }

    /// As the API server does after an hour.
    pub async fn delete_events(&self) -> Result<()> {
        let all = ListParams::default();
        self.api::<Event>().delete_collection(&DeleteParams::default(), &all).await?;
        Ok(())
    }
}
