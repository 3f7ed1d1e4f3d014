use super::*;

#[test]
fn a_refresh_is_started_once_followed_and_ended() {
    let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
    base.recycle.refresh_before = Some("r-0".to_owned());
    base.group_mut().mark = Some(base.text());
    base.group_mut().refresh = Some(refresh("r-0", RefreshStatus::Successful));
    let start = Action::Change(GroupChange::StartRefresh { min_healthy: 66 });
    assert_eq!(decide(&base, now()), start, "an earlier refresh is not ours");
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::InProgress));
    assert!(waits_for(&decide(&base, now())).contains("r-1 is at 30%"));
    base.group_mut().members.remove(0);
    let next = stored_plan(decide(&base, after(60)));
    assert_eq!((next.instances[0].state, next.step_since), (InstanceState::Gone, after(60)));
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::Successful));
    assert_eq!(step(decide(&base, now())), Step::Refilling);
}

#[test]
fn a_refresh_that_fails_or_takes_too_long_is_given_up_and_stopped() {
    for status in [RefreshStatus::Failed, RefreshStatus::Cancelled, RefreshStatus::Cancelling] {
        let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
        base.group_mut().refresh = Some(refresh("r-1", status));
        let (step, failure, why) = failed(decide(&base, now()));
        assert_eq!((step, failure), (Step::Releasing, RecycleFailure::RefreshFailed));
        assert!(why.contains("because"), "{why}");
        base.recycle = stored_plan(decide(&base, now()));
        assert_eq!(super::tests::step(decide(&base, after(60))), Step::Unmarking);
    }
    let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::InProgress));
    base.recycle = stored_plan(decide(&base, after(20 * 60)));
    assert_eq!(decide(&base, after(20 * 60)), Action::Change(GroupChange::CancelRefresh));
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::Cancelling));
    assert_eq!(step(decide(&base, after(21 * 60))), Step::Unmarking);
}
