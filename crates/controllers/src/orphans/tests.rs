use machinist_api::names::TAG_MACHINE_UID;
use machinist_domain::key::ObjectKey;
use machinist_provider::cloud::ownership::{TAG_CLUSTER, TAG_MADE_BY};
use machinist_provider::cloud::{InstanceState, Owned};

use super::samples::{RULES, at, machine, node, owned, seconds, uid, verdict, verdicts, view};
use super::*;

fn standing(owned: &Owned, view: &View) -> Standing {
    match verdict(owned, view) {
        Verdict::Orphan(_, standing) => standing,
        Verdict::Kept(kept) => panic!("{kept:?}"),
    }
}

fn of(machine: &str) -> Verdict {
    Verdict::Kept(Kept::Machine(ObjectKey::new("ns", machine)))
}

#[test]
fn instance_of_a_deleted_machine_may_be_deleted() {
    let origin = Origin::NoMachine(uid("gone"));
    let expected = Verdict::Orphan(origin, Standing::Collectable);
    let both = [owned("1", "gone"), owned("2", "m")];
    assert_eq!(verdicts(&both, &view(vec![machine("m", Some("2"))]))[0], expected);
    assert_eq!(verdict(&owned("1", "gone"), &view(vec![machine("m", None)])), expected);
    assert_eq!(verdict(&owned("1", "gone"), &view(Vec::new())), expected);
}

#[test]
fn instance_of_a_machine_is_kept_however_the_machine_names_it() {
    let instance = owned("1", "m");
    let other = || owned("1", "from-a-backup");
    assert_eq!(verdict(&instance, &view(vec![machine("m", Some("1"))])), of("m"));
    assert_eq!(verdict(&instance, &view(vec![machine("m", None)])), of("m"), "in creation");
    assert_eq!(verdict(&other(), &view(vec![machine("m", Some("1"))])), of("m"));
    let short = KnownMachine { provider_id: Some("test://1".into()), ..machine("m", None) };
    assert_eq!(verdict(&other(), &view(vec![short])), of("m"));
    let stored = KnownMachine { stored: vec!["running".into(), "1".into()], ..machine("m", None) };
    assert_eq!(verdict(&other(), &view(vec![stored])), of("m"));
}

#[test]
fn earlier_attempt_of_a_machine_is_a_duplicate_while_the_current_instance_runs() {
    let (old, new) = (owned("1", "m"), Owned { attempt: Some(2), ..owned("2", "m") });
    let current = KnownMachine { attempt: Some(2), ..machine("m", Some("2")) };
    let at_once = |listed: &[Owned], machine: &KnownMachine| {
        verdicts(listed, &view(vec![machine.clone()])).remove(0)
    };
    let both = [old.clone(), new.clone()];
    let duplicate =
        Origin::Duplicate { machine: ObjectKey::new("ns", "m"), attempt: 1, current: "2".into() };
    assert_eq!(at_once(&both, &current), Verdict::Orphan(duplicate, Standing::Collectable));
    assert_eq!(verdicts(&both, &view(vec![current.clone()]))[1], of("m"));

    assert_eq!(
        at_once(std::slice::from_ref(&old), &current),
        of("m"),
        "the current one is not listed"
    );
    let mut starting = both.clone();
    starting[1].instance.state = InstanceState::Pending;
    assert_eq!(at_once(&starting, &current), of("m"), "the current one does not run");
    let unnamed = KnownMachine { provider_id: None, ..current.clone() };
    assert_eq!(at_once(&both, &unnamed), of("m"), "the Machine names none");
    let deleting = KnownMachine { deleting: true, ..current.clone() };
    assert_eq!(at_once(&both, &deleting), of("m"), "the Machine deletes both");
    let first = KnownMachine { attempt: Some(1), ..current.clone() };
    assert_eq!(at_once(&both, &first), of("m"), "it is of the last attempt");
    let lost = KnownMachine { attempt: None, ..current.clone() };
    assert_eq!(at_once(&both, &lost), of("m"), "the Machine has no attempt");
    let unclear = [Owned { attempt: None, ..old.clone() }, new.clone()];
    assert_eq!(at_once(&unclear, &current), of("m"), "its attempt is unknown");
    let third = KnownMachine { attempt: Some(3), ..current };
    let later = [Owned { attempt: Some(2), ..old }, Owned { attempt: Some(1), ..new }];
    assert_eq!(at_once(&later, &third), of("m"), "the current one is of an earlier attempt");
}

#[test]
fn foreign_instance_is_never_an_orphan() {
    let foreign = Verdict::Kept(Kept::Foreign);
    for tag in [TAG_CLUSTER, TAG_MADE_BY, TAG_MACHINE_UID] {
        for value in [None, Some("other")] {
            let mut instance = owned("1", "gone");
            match value {
                None => instance.tags.remove(tag),
                Some(value) => instance.tags.insert(tag.to_owned(), value.to_owned()),
            };
            assert_eq!(verdict(&instance, &view(Vec::new())), foreign, "{tag}: {value:?}");
        }
    }
}

#[test]
fn orphan_with_a_node_is_kept_however_the_node_is_known() {
    let instance = owned("1", "gone");
    let with = |node: KnownNode| View { nodes: vec![node], ..view(Vec::new()) };
    let has = Standing::HasNode("n".into());
    assert_eq!(standing(&instance, &with(node("n", Some("test:///zone/1")))), has);
    assert_eq!(standing(&instance, &with(node("n", Some("test:///1")))), has);
    let named = node("host-1", None);
    assert_eq!(standing(&instance, &with(named)), Standing::HasNode("host-1".into()));
    let ip = KnownNode { internal_ips: vec!["10.0.0.1".into()], ..node("n", None) };
    assert_eq!(standing(&instance, &with(ip)), has);
    // A later instance with the same name.
    let later = node("host-1", Some("test:///zone/2"));
    assert_eq!(standing(&instance, &with(later)), Standing::Collectable);
}

#[test]
fn grace_period_counts_from_the_launch_to_the_oldest_view() {
    let launched = |created| Owned { created, ..owned("1", "gone") };
    let now = view(Vec::new());
    let left = |time| Standing::Young(Some(seconds(time)));
    assert_eq!(standing(&launched(Some(at(-1799))), &now), left(1));
    assert_eq!(standing(&launched(Some(at(-1800))), &now), Standing::Collectable);
    assert_eq!(standing(&launched(Some(at(60))), &now), left(1800), "a clock is wrong");
    let stale = View { as_of: at(-600), ..now.clone() };
    assert_eq!(standing(&launched(Some(at(-1900))), &stale), left(500));
    assert_eq!(standing(&launched(None), &now), Standing::Young(None));
    let unknown = launched(None);
    let seen = |time| [Sighting { owned: &unknown, first_seen: Some(at(time)) }];
    assert!(judge(&seen(-1800), &now, RULES)[0].is_collectable());
    assert!(!judge(&seen(-1799), &now, RULES)[0].is_collectable());
}

#[test]
fn one_sighting_does_not_suffice_where_it_is_not_looked_at_again() {
    let (instance, rules) = (owned("1", "gone"), Rules { seen_before: true, ..RULES });
    let now = view(Vec::new());
    let standing =
        |first_seen| match &judge(&[Sighting { owned: &instance, first_seen }], &now, rules)[0] {
            Verdict::Orphan(_, standing) => standing.clone(),
            Verdict::Kept(kept) => panic!("{kept:?}"),
        };
    assert_eq!(standing(None), Standing::SeenOnce);
    assert_eq!(standing(Some(at(0))), Standing::SeenOnce, "that is this one");
    assert_eq!(standing(Some(at(-1))), Standing::Collectable);
}

#[test]
fn doubt_about_the_view_blocks_every_orphan() {
    let doubts = [
        Doubt::Undecodable { kind: "Machine", key: ObjectKey::new("ns", "x") },
        Doubt::NotRead { kind: "Node", why: "forbidden".to_owned() },
        Doubt::OneNamespace("ns".to_owned()),
    ];
    for doubt in doubts {
        let view = View { doubts: vec![doubt.clone()], ..view(Vec::new()) };
        assert_eq!(standing(&owned("1", "gone"), &view), Standing::Blocked(doubt));
    }
    let key = ObjectKey::new("ns", "broken");
    let view = View { undecodable: vec![(key, uid("x"))], ..view(Vec::new()) };
    assert_eq!(verdict(&owned("1", "x"), &view), of("broken"));
}

/// `orphans` of `listed` instances, the last of them the oldest.
fn some(orphans: usize, listed: usize) -> (Vec<Owned>, View) {
    let machines = (orphans..listed).map(|at| machine(&format!("m{at}"), None)).collect();
    let instance = |number: usize| Owned {
        created: Some(at(-7200 - i64::try_from(number).unwrap())),
        ..owned(&number.to_string(), &format!("m{number}"))
    };
    ((0..listed).map(instance).collect(), view(machines))
}

fn collectable(orphans: usize, listed: usize) -> Vec<usize> {
    let (listed, view) = some(orphans, listed);
    let verdicts = verdicts(&listed, &view);
    (0..verdicts.len()).filter(|at| verdicts[*at].is_collectable()).collect()
}

#[test]
fn at_most_five_or_a_tenth_are_deleted_at_once_and_the_oldest_first() {
    assert_eq!(collectable(3, 4), [2], "at least one");
    assert_eq!(collectable(5, 30), [2, 3, 4]);
    assert_eq!(collectable(40, 100), [35, 36, 37, 38, 39]);
    let (listed, view) = some(3, 4);
    assert_eq!(standing_of(&verdicts(&listed, &view)[0]), Standing::OverLimit(1));
}

#[test]
fn nothing_is_deleted_that_machinist_did_not_launch() {
    let copy = Owned { attempt: None, ..owned("1", "gone") };
    let verdicts = verdicts(&[copy], &view(Vec::new()));
    assert_eq!(standing_of(&verdicts[0]), Standing::Blocked(Doubt::NotLaunched));
}

#[test]
fn nothing_is_deleted_where_no_instance_of_a_machine_is_listed() {
    let of_another_cluster = [owned("1", "x"), owned("2", "y")];
    let verdicts = verdicts(&of_another_cluster, &view(vec![machine("m", Some("9"))]));
    for verdict in &verdicts {
        assert_eq!(standing_of(verdict), Standing::Blocked(Doubt::NoneKnown));
    }
}

fn standing_of(verdict: &Verdict) -> Standing {
    match verdict {
        Verdict::Orphan(_, standing) => standing.clone(),
        Verdict::Kept(kept) => panic!("{kept:?}"),
    }
}

#[test]
fn nothing_is_deleted_where_most_instances_have_no_machine() {
    assert_eq!(collectable(6, 12), [5], "half of them");
    assert_eq!(collectable(7, 12), [0_usize; 0]);
    assert_eq!(collectable(5, 5).len(), 1, "few instances");
    let (listed, view) = some(7, 12);
    let doubt = Doubt::MostUnknown { orphans: 7, listed: 12 };
    assert_eq!(standing_of(&verdicts(&listed, &view)[0]), Standing::Blocked(doubt));
}
