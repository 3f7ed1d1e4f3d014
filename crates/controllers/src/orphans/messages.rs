//! Why an instance is kept, or may be deleted.

use std::fmt;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::messages::span;
use machinist_domain::texts;

use super::verdict::{Kept, Origin, Standing, Verdict};
use super::view::Doubt;

const FOREIGN: &str = "its tags are not those of machinist and of this cluster";
const NONE_KNOWN: &str = "Machines have instances, and none of them is listed: check that kubeconfig and cluster id \
     belong together";
const NOT_LAUNCHED: &str =
    "it has the tags, but machinist did not launch it for this Machine: delete it yourself";
const UNKNOWN_AGE: &str = "its age is unknown";
const SEEN_ONCE: &str = "it was seen once";
const COLLECTABLE: &str = "it may be deleted";
pub(super) const NO_TARGET: &str = "there is no cluster with Nodes (--target-kubeconfig=none)";

texts! {
    fn belongs(machine: &ObjectKey) = "it belongs to Machine {machine}";
    fn no_machine(uid: &Uid) = "no Machine has uid {uid}";
    fn duplicate(machine: &ObjectKey, attempt: u32, current: &str) =
        "it is of attempt {attempt} of Machine {machine}, which has {current}";
    fn has_node(node: &str) = "node {node} runs on it";
    fn undecodable(kind: &str, key: &ObjectKey) =
        "{kind} {key} cannot be decoded and may need it; correct the {kind}";
    fn not_read(kind: &str, why: &str) = "{kind}s were not read: {why}";
    fn one_namespace(namespace: &str) =
        "only the Machines in namespace {namespace} were read, and another one may need it";
    fn most_unknown(orphans: usize, listed: usize) =
        "{orphans} of {listed} instances have no Machine: check that kubeconfig and cluster id belong together, and \
         that the Machines were not restored from an old backup";
    fn young(left: &str) = "it is too young: {left} of the grace period are left";
    fn over_limit(most: usize) = "at most {most} are deleted at once, the oldest first";
    fn orphan(origin: &Origin, standing: &Standing) = "{origin}; {standing}";
    pub(super) fn place(provider: &str, region: &str, credentials: &str) = "{provider}, {region}, {credentials}";
    pub(super) fn credentials_secret(key: &ObjectKey) = "Secret {key}";
    pub(super) fn deletion(id: &str, why: &Verdict) = "delete orphan {id}: {why}";
}

pub(super) const AMBIENT: &str = "credentials of this process";

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept(Kept::Machine(machine)) => f.write_str(&belongs(machine)),
            Self::Kept(Kept::Foreign) => f.write_str(FOREIGN),
            Self::Orphan(origin, standing) => f.write_str(&orphan(origin, standing)),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::NoMachine(uid) => no_machine(uid),
            Self::Duplicate { machine, attempt, current } => duplicate(machine, *attempt, current),
        })
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HasNode(node) => f.write_str(&has_node(node)),
            Self::Blocked(doubt) => doubt.fmt(f),
            Self::Young(Some(left)) => f.write_str(&young(&rounded(*left))),
            Self::Young(None) => f.write_str(UNKNOWN_AGE),
            Self::SeenOnce => f.write_str(SEEN_ONCE),
            Self::OverLimit(most) => f.write_str(&over_limit(*most)),
            Self::Collectable => f.write_str(COLLECTABLE),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Undecodable { kind, key } => undecodable(kind, key),
            Self::NotRead { kind, why } => not_read(kind, why),
            Self::OneNamespace(namespace) => one_namespace(namespace),
            Self::MostUnknown { orphans, listed } => most_unknown(*orphans, *listed),
            Self::NoneKnown => NONE_KNOWN.to_owned(),
            Self::NotLaunched => NOT_LAUNCHED.to_owned(),
        })
    }
}

/// Up to whole seconds, from a minute on whole minutes.
fn rounded(left: Duration) -> String {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let seconds = if seconds < 60 { seconds } else { seconds.div_ceil(60) * 60 };
    span(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let machine = ObjectKey::new("ns", "worker-1");
        let unknown = Origin::NoMachine(Uid("2b6d".into()));
        let current = "i-2".into();
        let duplicate = Origin::Duplicate { machine: machine.clone(), attempt: 1, current };
        let standings = [
            Standing::HasNode("ip-10-0-0-1".into()),
            Standing::Blocked(Doubt::Undecodable { kind: "Machine", key: machine.clone() }),
            Standing::Blocked(Doubt::NotRead { kind: "Node", why: NO_TARGET.to_owned() }),
            Standing::Blocked(Doubt::OneNamespace("ns".to_owned())),
            Standing::Blocked(Doubt::MostUnknown { orphans: 8, listed: 12 }),
            Standing::Blocked(Doubt::NoneKnown),
            Standing::Blocked(Doubt::NotLaunched),
            Standing::Young(Some(Duration::from_millis(700_200))),
            Standing::Young(None),
            Standing::SeenOnce,
            Standing::OverLimit(5),
            Standing::Collectable,
        ];
        let kept = [Kept::Machine(machine), Kept::Foreign];
        let mut verdicts: Vec<_> = kept.into_iter().map(Verdict::Kept).collect();
        verdicts.push(Verdict::Orphan(duplicate, Standing::Collectable));
        verdicts.extend(standings.map(|standing| Verdict::Orphan(unknown.clone(), standing)));
        let mut rows: Vec<_> =
            verdicts.iter().map(|one| ("orphans", one.code(), one.to_string())).collect();
        let secret = credentials_secret(&ObjectKey::new("ns", "aws"));
        rows.push(("orphans", "", place("aws", "eu-west-3", &secret)));
        rows.push(("orphans", "", place("sim", "sim-1", AMBIENT)));
        let collectable = Verdict::Orphan(unknown, Standing::Collectable);
        rows.push(("audit log", "", deletion("i-1", &collectable)));
        insta::assert_snapshot!("messages", message_table(&rows));
    }

    #[test]
    fn times_are_rounded_up() {
        let cases =
            [(1, "1s"), (59_000, "59s"), (60_000, "1m"), (60_001, "2m"), (1_800_000, "30m")];
        for (millis, text) in cases {
            assert_eq!(rounded(Duration::from_millis(millis)), text);
        }
    }
}
