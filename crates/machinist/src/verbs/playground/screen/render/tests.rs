use std::time::Duration;

use super::super::state::Log;
use super::*;
use crate::terminal::tests::HOSTILE;
use crate::verbs::playground::samples;

fn now() -> Timestamp {
    "2026-01-01T00:10:00Z".parse().unwrap()
}

fn machine(number: usize, health: Health) -> MachineRow {
    let (phase, why) = match health {
        Health::Failed => {
            ("Failed", "CreateError: no capacity for sim.medium in zone a; another zone is tried")
        }
        Health::Unready => ("Provisioning", "InstancePending: Instance is pending (31s)"),
        Health::Ready => ("Running", ""),
    };
    let name = format!("fleet-b7kqz4m2xw-m6vt-{number}");
    MachineRow {
        node: if health == Health::Ready { format!("{name}-78f63436") } else { String::new() },
        created: Some(now() - Duration::from_secs(34 + 60 * number as u64)),
        phase: phase.to_owned(),
        why: why.to_owned(),
        name,
        health,
    }
}

fn state(machines: usize) -> State {
    let health = |number| match number {
        2 => Health::Unready,
        4 => Health::Failed,
        _ => Health::Ready,
    };
    let sets = samples::machine_sets().unwrap();
    let mut sets: Vec<_> = sets.iter().map(|set| Row::of(set, &[])).collect();
    sets[0].vcpu = "4".to_owned();
    sets[3].is_warning = true;
    let row = ["fleet", "3", "2", "1", "2", "MachineSetUpdated"].map(str::to_owned).to_vec();
    let message = "Revision 2: 1 of 3 Machines updated, 2 available, 2 old; \
                   waiting for 1 new Machine to become available";
    State {
        fleet: FleetState {
            deployments: vec![row],
            progress: (false, message.to_owned()),
            machines: (0..machines).map(|number| machine(number, health(number))).collect(),
            instances: machines,
        },
        sets,
        log: Log { path: "/tmp/machinist-playground-1a2b.log".to_owned(), lines: 2 },
        export: "export KUBECONFIG=/tmp/machinist-control-plane-x1Y2z3/kubeconfig".to_owned(),
        commands: messages::commands(samples::FIRST).lines().map(str::to_owned).collect(),
        trouble: None,
    }
}

fn text(lines: &[Line]) -> String {
    let line = |line: &Line| line.iter().map(Span::text).collect::<String>().trim_end().to_owned();
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn drawn(state: &State, rows: usize, columns: usize) -> String {
    let lines = render(state, now(), [rows, columns]);
    assert_eq!(lines.len(), rows, "every row is drawn");
    let widths = lines.iter().map(|line| line.iter().map(Span::width).sum::<usize>());
    assert!(widths.max().unwrap_or_default() <= columns, "{lines:?}");
    text(&lines)
}

#[test]
fn a_small_terminal() {
    insta::assert_snapshot!("80x24", drawn(&state(5), 24, 80));
}

#[test]
fn a_large_terminal() {
    insta::assert_snapshot!("200x50", drawn(&state(5), 50, 200));
}

#[test]
fn many_machines_leave_out_the_healthy_ones() {
    insta::assert_snapshot!("many", drawn(&state(50), 24, 80));
}

#[test]
fn empty_sets_of_deployments_are_hidden_first() {
    let mut state = state(5);
    for _ in 0..9 {
        let mut old = Row::of(&samples::machine_sets().unwrap()[0], &[]);
        old.name = "fleet-old".to_owned();
        old.is_unused = true;
        state.sets.push(old);
    }
    let shown = |rows, name: &str| drawn(&state, rows, 80).matches(name).count();
    assert_eq!(shown(40, "fleet-old"), 9);
    assert_eq!(shown(24, "fleet-old"), 0);
    assert_eq!(shown(24, "half-written"), 1, "the others are shown");
}

#[test]
fn trouble_takes_the_line_of_the_log() {
    let mut state = state(1);
    state.trouble = Some("the API server closed the connection".to_owned());
    state.fleet.progress.0 = true;
    insta::assert_snapshot!("trouble", drawn(&state, 24, 80));
    let lines = render(&state, now(), [24, 80]);
    assert_eq!((lines[4][0].style, lines[22][0].style), (Style::Bad, Style::Bad));
}

#[test]
fn the_line_of_the_kubeconfig_is_the_last_in_any_size() {
    for rows in 1..60 {
        for columns in [0, 1, 20, 80, 119, 120, 250] {
            let text = drawn(&state(9), rows, columns);
            let last = text.lines().last().unwrap_or_default();
            let expected: String =
                state(9).export.chars().take(columns.saturating_sub(1)).collect();
            assert!(last.starts_with(&expected), "{rows}x{columns}: {text}");
        }
    }
    assert_eq!(render(&state(9), now(), [0, 80]), Vec::<Line>::new());
}

#[test]
fn before_the_first_answer_there_are_only_headings() {
    let text = drawn(&State::default(), 24, 80);
    assert!(text.contains("MACHINEDEPLOYMENT") && text.contains("MACHINE   PHASE"), "{text}");
}

#[test]
fn phases_have_colours_and_nothing_controls_the_terminal() {
    let mut state = state(5);
    state.fleet.machines[4].why = HOSTILE.to_owned();
    let lines = render(&state, now(), [24, 120]);
    let style = |phase: &str| {
        let mut spans = lines.iter().flatten();
        spans.find(|span| span.text().trim_end() == phase).unwrap().style
    };
    assert_eq!(
        [style("Failed"), style("Provisioning"), style("Running")],
        [Style::Bad, Style::Busy, Style::Good]
    );
    assert!(
        !text(&lines)
            .contains(|letter| crate::terminal::controls_terminal(letter) && letter != '\n')
    );
}
