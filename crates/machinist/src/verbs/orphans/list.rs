//! The listed instances as a table and as values. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use machinist_controllers::orphans::{Kept, Listed, Origin, Survey, Unchecked, Verdict};
use serde::Serialize;

use super::messages;
use crate::verbs::table::{age, cut, table};

/// How much of the tags is in the table.
const TAGS_WIDTH: usize = 160;

/// What was found in JSON and YAML.
#[derive(Debug, Serialize)]
pub(super) struct Listing<'a> {
    /// The cluster's identity in tags.
    cluster: &'a str,
    instances: Vec<Shown<'a>>,
    unchecked: Vec<ShownUnchecked<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    instance_id: &'a str,
    provider_id: &'a str,
    state: &'a str,
    instance_type: Option<&'a str>,
    zone: Option<&'a str>,
    /// Provider, region and credentials.
    place: String,
    launched: Option<Timestamp>,
    /// The uid in its tags.
    machine_uid: &'a str,
    attempt: Option<u32>,
    /// The Machine that needs it, or that has another one.
    machine: Option<String>,
    orphan: bool,
    collectable: bool,
    reason: &'static str,
    message: String,
    tags: &'a BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownUnchecked<'a> {
    what: &'a str,
    why: &'a str,
}

impl<'a> Shown<'a> {
    fn of(listed: &'a Listed, verdict: &Verdict) -> Self {
        let owned = &listed.owned;
        let instance = &owned.instance;
        let machine = match verdict {
            Verdict::Kept(Kept::Machine(machine))
            | Verdict::Orphan(Origin::Duplicate { machine, .. }, _) => Some(machine.to_string()),
            Verdict::Kept(Kept::Foreign) | Verdict::Orphan(Origin::NoMachine(_), _) => None,
        };
        Self {
            instance_id: &instance.id,
            provider_id: &instance.provider_id,
            state: &instance.state_text,
            instance_type: instance.instance_type.as_deref(),
            zone: instance.zone.as_deref(),
            place: listed.place(),
            launched: owned.created,
            machine_uid: &owned.machine_uid.0,
            attempt: owned.attempt,
            machine,
            orphan: verdict.is_orphan(),
            collectable: verdict.is_collectable(),
            reason: verdict.code(),
            message: verdict.to_string(),
            tags: &owned.tags,
        }
    }

    fn row(&self, now: Timestamp, wide: bool) -> Vec<String> {
        let or_none = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let launched = self.launched.map(|launched| age(now.duration_since(launched).as_secs()));
        let mut cells = vec![
            self.instance_id.to_owned(),
            self.state.to_owned(),
            or_none(launched.as_deref()),
            self.machine_uid.to_owned(),
            self.reason.to_owned(),
        ];
        if wide {
            let tags: Vec<_> =
                self.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
            cells.extend([
                or_none(self.instance_type),
                or_none(self.zone),
                self.place.clone(),
                cut(&tags.join(","), TAGS_WIDTH),
            ]);
        }
        cells.push(self.message.clone());
        cells
    }
}

impl<'a> Listing<'a> {
    /// Of all instances, or of the orphans only.
    pub(super) fn of(survey: &'a Survey, verdicts: &[Verdict], all: bool) -> Self {
        let judged = survey.instances.iter().zip(verdicts);
        let shown = judged.filter(|(_, verdict)| all || verdict.is_orphan());
        Self {
            cluster: &survey.view.cluster,
            instances: shown.map(|(listed, verdict)| Shown::of(listed, verdict)).collect(),
            unchecked: unchecked(&survey.unchecked),
        }
    }

    pub(super) fn table(&self, now: Timestamp, wide: bool) -> String {
        let mut text = if self.instances.is_empty() {
            format!("{}\n", messages::none(self.cluster))
        } else {
            let mut headings = vec!["INSTANCE", "STATE", "AGE", "MACHINE-UID", "REASON"];
            if wide {
                headings.extend(["TYPE", "ZONE", "PLACE", "TAGS"]);
            }
            headings.push("MESSAGE");
            table(&headings, self.instances.iter().map(|one| one.row(now, wide)).collect())
        };
        text.extend(self.unchecked.iter().map(ShownUnchecked::line));
        text
    }
}

impl ShownUnchecked<'_> {
    pub(super) fn line(&self) -> String {
        format!("{}\n", messages::unchecked(self.what, self.why))
    }
}

pub(super) fn unchecked(unchecked: &[Unchecked]) -> Vec<ShownUnchecked<'_>> {
    unchecked.iter().map(|Unchecked { what, why }| ShownUnchecked { what, why }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use machinist_controllers::orphans::{Standing, View};
    use machinist_domain::key::{ObjectKey, Uid};
    use machinist_provider::access::{CloudAccess, Credentials};
    use machinist_provider::cloud::ownership::Ownership;
    use machinist_provider::cloud::{Instance, InstanceState, Owned, ProviderStatus, Reach};

    use super::*;
    use crate::terminal::{
        Printable,
        tests::{HOSTILE, assert_harmless},
    };

    fn now() -> Timestamp {
        "2026-01-01T03:00:00Z".parse().unwrap()
    }

    fn listed(id: &str, uid: &str, created: Option<&str>) -> Listed {
        let access = CloudAccess {
            region: "eu-west-3".into(),
            credentials: Credentials::Ambient,
            endpoint: None,
            ca_bundle: None,
        };
        let ownership = Ownership { cluster: "c".into(), machine_uid: Uid(uid.into()) };
        let tags = ownership.tags().map(|(tag, value)| (tag.to_owned(), value.to_string()));
        let instance = Instance {
            id: id.into(),
            provider_id: format!("aws:///eu-west-3a/{id}").into(),
            state: InstanceState::Running,
            state_text: "running".into(),
            state_reason: None,
            addresses: Vec::new(),
            region: None,
            zone: Some("eu-west-3a".into()),
            instance_type: Some("m6i.large".into()),
            interruptible: false,
            uncertain: false,
            drift: None,
            status: ProviderStatus::default(),
        };
        Listed {
            provider: "aws",
            reach: Arc::new(Reach { access, cluster: "c".into() }),
            owned: Owned {
                machine_uid: ownership.machine_uid,
                attempt: Some(1),
                tags: tags.into_iter().collect(),
                instance,
                created: created.map(|at| at.parse().unwrap()),
            },
        }
    }

    fn survey(instances: Vec<Listed>, unchecked: Vec<Unchecked>) -> Survey {
        let view = View {
            cluster: "c".into(),
            machines: Vec::new(),
            undecodable: Vec::new(),
            nodes: Vec::new(),
            as_of: now(),
            doubts: Vec::new(),
        };
        Survey { instances, unchecked, view }
    }

    #[test]
    fn tables_and_values() {
        let machine = || ObjectKey::new("ns", "worker-1");
        let gone = || Origin::NoMachine(Uid("2b6d".into()));
        let duplicate = Origin::Duplicate { machine: machine(), attempt: 1, current: "i-9".into() };
        let unchecked = Unchecked { what: "Machine ns/m".to_owned(), why: "no region".to_owned() };
        let survey = survey(
            vec![
                listed("i-1", "2b6d", Some("2026-01-01T01:00:00Z")),
                listed("i-2", "77aa", Some("2026-01-01T02:50:00Z")),
                listed("i-3", "2b6d", None),
                listed("i-4", "90cc", Some("2025-12-24T03:00:00Z")),
            ],
            vec![unchecked],
        );
        let verdicts = [
            Verdict::Orphan(gone(), Standing::Collectable),
            Verdict::Orphan(duplicate, Standing::HasNode("n".into())),
            Verdict::Orphan(gone(), Standing::Young(None)),
            Verdict::Kept(Kept::Machine(machine())),
        ];
        let all = Listing::of(&survey, &verdicts, true);
        let orphans = Listing::of(&survey, &verdicts, false);
        let json = serde_json::to_string_pretty(&orphans.instances[1]).unwrap();
        let texts = [orphans.table(now(), false), all.table(now(), true), json];
        insta::assert_snapshot!("list", texts.join("\n"));
        let nothing = self::survey(Vec::new(), Vec::new());
        let text = Listing::of(&nothing, &[], true).table(now(), false);
        assert_eq!(text, format!("{}\n", messages::none("c")));
    }

    #[test]
    fn tags_and_causes_do_not_control_the_terminal() {
        let mut one = listed(HOSTILE, HOSTILE, None);
        one.owned.tags.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
        let unchecked = Unchecked { what: HOSTILE.to_owned(), why: HOSTILE.to_owned() };
        let survey = survey(vec![one], vec![unchecked]);
        let verdicts = [Verdict::Kept(Kept::Foreign)];
        for wide in [false, true] {
            let text = Listing::of(&survey, &verdicts, true).table(now(), wide);
            assert_harmless(&Printable::lines(&text));
        }
    }
}
