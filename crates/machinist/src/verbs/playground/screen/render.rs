//! Draws the state in a terminal of this size. Pure. The last line is always how to reach the cluster; what does not
//! fit is left out from the least important on: commands, empty MachineSets of MachineDeployments, MachineSets, healthy
//! Machines.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::state::{FleetState, Health, MachineRow, State};
use crate::terminal::screen::{Line, Span, Style, clip};
use crate::verbs::playground::messages;
use crate::verbs::playground::view::Row;
use crate::verbs::table::age;

const GAP: &str = "   ";
/// From this width on, the Nodes of Machines are shown.
const WIDE: usize = 120;
/// So many Machines are more important than MachineSets.
const FIRST_MACHINES: usize = 4;
/// A heading and the empty line above it.
const HEAD: usize = 2;

/// One line per row of the terminal.
pub(super) fn render(state: &State, now: Timestamp, [rows, columns]: [usize; 2]) -> Vec<Line> {
    let mut top = top(state);
    let mut bottom = bottom(state);
    top.truncate(rows.saturating_sub(bottom.len()));
    let room = rows.saturating_sub(top.len() + bottom.len());

    let machines = sorted(&state.fleet.machines);
    let first_machines = HEAD + machines.len().min(FIRST_MACHINES);
    let mut sets: Vec<_> = state.sets.iter().collect();
    if room < sets.len() + HEAD + first_machines {
        sets.retain(|one| !one.is_unused);
    }
    let sets_height = sets.len() + HEAD;
    let with_sets = room >= sets_height + first_machines;
    let for_machines = if with_sets { room - sets_height } else { room };
    let mut middle = machine_lines(&machines, now, columns, for_machines);
    if with_sets {
        middle.extend(set_lines(sets));
    }
    let free = room.saturating_sub(middle.len());
    if free > 0 && top.pop().is_some() {
        top.extend(progress_lines(&state.fleet.progress, columns, free + 1));
    }
    let room = rows.saturating_sub(top.len() + bottom.len());
    if middle.len() + state.commands.len() < room {
        middle.push(Line::new());
        middle.extend(state.commands.iter().map(|one| vec![Span::new(Style::Dim, one)]));
    }
    middle.resize(room, Line::new());

    bottom.drain(..bottom.len().saturating_sub(rows));
    let all = top.into_iter().chain(middle).chain(bottom);
    all.map(|line| clip(line, columns)).collect()
}

fn top(state: &State) -> Vec<Line> {
    let FleetState { deployments, progress, .. } = &state.fleet;
    let mut lines = vec![vec![Span::new(Style::Bold, messages::TITLE)], Line::new()];
    let headings = ["MACHINEDEPLOYMENT", "DESIRED", "READY", "UP-TO-DATE", "AVAILABLE", "REASON"];
    let plain = |cell: &String| Span::new(Style::Plain, cell);
    let rows = deployments.iter().map(|row| row.iter().map(plain).collect());
    lines.extend(table(&headings, rows.collect()));
    lines.extend(progress_lines(progress, usize::MAX, 1));
    lines
}

/// At least one and at most `most` lines. The last one has the rest, if that is too long.
fn progress_lines((failed, message): &(bool, String), columns: usize, most: usize) -> Vec<Line> {
    let mut lines = vec![String::new()];
    for word in message.split(' ') {
        let is_last = lines.len() >= most;
        let line = lines.pop().unwrap_or_default();
        if line.is_empty() {
            lines.push(word.to_owned());
        } else if is_last || line.chars().count() + 1 + word.chars().count() <= columns {
            lines.push(format!("{line} {word}"));
        } else {
            lines.extend([line, word.to_owned()]);
        }
    }
    let style = if *failed { Style::Bad } else { Style::Dim };
    lines.iter().map(|line| vec![Span::new(style, line)]).collect()
}

fn bottom(state: &State) -> Vec<Line> {
    let FleetState { machines, instances, .. } = &state.fleet;
    let totals = messages::totals(machines.len(), &phases(machines), *instances, state.sets.len());
    let last = match &state.trouble {
        Some(cause) => Span::new(Style::Bad, &messages::unreadable(cause)),
        None => Span::new(Style::Dim, &messages::log(state.log.lines, &state.log.path)),
    };
    let export = Span::new(Style::Bold, &state.export);
    vec![Line::new(), vec![Span::new(Style::Bold, &totals)], vec![last], vec![export]]
}

/// Unhealthy ones first.
fn sorted(machines: &[MachineRow]) -> Vec<&MachineRow> {
    let mut sorted: Vec<_> = machines.iter().collect();
    sorted.sort_by_key(|one| (one.health, &one.name));
    sorted
}

/// `1 Failed, 3 Running`, the unhealthy ones first.
fn phases<'a>(machines: impl IntoIterator<Item = &'a MachineRow>) -> String {
    let mut counts: BTreeMap<(Health, &str), usize> = BTreeMap::new();
    for one in machines {
        let phase = if one.phase.is_empty() { messages::NO_PHASE } else { &one.phase };
        *counts.entry((one.health, phase)).or_default() += 1;
    }
    let counts: Vec<_> =
        counts.into_iter().map(|((_, phase), count)| format!("{count} {phase}")).collect();
    counts.join(", ")
}

/// At most `height` lines.
fn machine_lines(
    machines: &[&MachineRow],
    now: Timestamp,
    columns: usize,
    height: usize,
) -> Vec<Line> {
    let Some(room) = height.checked_sub(HEAD).filter(|room| *room > 0) else { return Vec::new() };
    let shown = if machines.len() > room { room - 1 } else { machines.len() };
    let (shown, rest) = machines.split_at(shown);
    let wide = columns >= WIDE;
    let mut headings = vec!["MACHINE", "PHASE", "AGE", "WHY NOT READY"];
    if wide {
        headings.insert(2, "NODE");
    }
    let rows = shown.iter().map(|one| machine_row(one, now, wide)).collect();
    let mut lines = vec![Line::new()];
    lines.extend(table(&headings, rows));
    if !rest.is_empty() {
        let text = messages::more(rest.len(), &phases(rest.iter().copied()));
        lines.push(vec![Span::new(Style::Dim, &text)]);
    }
    lines
}

fn machine_row(one: &MachineRow, now: Timestamp, wide: bool) -> Line {
    let style = match one.health {
        Health::Failed => Style::Bad,
        Health::Unready => Style::Busy,
        Health::Ready => Style::Good,
    };
    let seconds = one.created.map_or(0, |created| now.duration_since(created).as_secs());
    let plain = |text: &str| Span::new(Style::Plain, text);
    let mut cells =
        vec![plain(&one.name), Span::new(style, &one.phase), plain(&age(seconds)), plain(&one.why)];
    if wide {
        cells.insert(2, plain(&one.node));
    }
    cells
}

/// Those with a warning first.
fn set_lines(mut sorted: Vec<&Row>) -> Vec<Line> {
    let headings =
        ["MACHINESET", "INSTANCE TYPE", "VCPU", "MEMORYMB", "GPU", "LABELS, OR LAST EVENT"];
    sorted.sort_by_key(|one| !one.is_warning);
    let rows = sorted.into_iter().map(|one| {
        let style = if one.is_warning { Style::Bad } else { Style::Plain };
        let plain = [&one.name, &one.instance_type, &one.vcpu, &one.memory, &one.gpu];
        let cells = plain.into_iter().map(|text| Span::new(Style::Plain, text));
        cells.chain([Span::new(style, one.words())]).collect()
    });
    let mut lines = vec![Line::new()];
    lines.extend(table(&headings, rows.collect()));
    lines
}

/// Columns, with a dash in each empty cell. The last one is not padded.
fn table(headings: &[&str], rows: Vec<Line>) -> Vec<Line> {
    let heading = headings.iter().map(|text| Span::new(Style::Dim, text)).collect();
    let mut all: Vec<Line> = vec![heading];
    let filled = |cell: Span| match cell.text() {
        "" => Span::new(Style::Dim, "-"),
        _ => cell,
    };
    all.extend(rows.into_iter().map(|row| row.into_iter().map(filled).collect::<Line>()));
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(Span::width).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let line = |row: Line| {
        let mut line = Line::new();
        for (at, cell) in row.into_iter().enumerate() {
            if at > 0 {
                line.push(Span::new(Style::Plain, GAP));
            }
            let is_last = at + 1 == headings.len();
            line.push(if is_last { cell } else { cell.padded(widths[at]) });
        }
        line
    };
    all.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests;
