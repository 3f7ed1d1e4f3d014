//! Progress of one group on stderr: lines that are redrawn on a terminal, elsewhere a line per change.

use machinist_api::event_recycler::recycle::{InstanceState, Recycle};
use machinist_controllers::recycler::recycling::Snapshot;
use machinist_provider::node_groups::Lifecycle;

use super::super::messages;
use crate::terminal::{Printable, eprint, stderr_is_terminal};

#[derive(Debug)]
pub(in super::super) struct Progress {
    on_terminal: bool,
    /// What was written last.
    lines: Vec<String>,
}

impl Progress {
    pub(in super::super) fn new() -> Self {
        Self { on_terminal: stderr_is_terminal(), lines: Vec::new() }
    }

    pub(in super::super) fn show(
        &mut self,
        recycle: &Recycle,
        snapshot: &Snapshot,
        trouble: Option<&str>,
    ) {
        let head = head(recycle, trouble);
        if self.on_terminal {
            let mut lines = vec![head];
            lines.extend(members(recycle, snapshot));
            self.draw(lines);
        } else {
            self.print_line(head);
        }
    }

    pub(in super::super) fn trouble(&mut self, trouble: &str) {
        if self.on_terminal {
            let mut lines = self.lines.clone();
            lines.push(format!("  {}", messages::problem(trouble)));
            self.draw(lines);
            self.lines.pop();
        } else {
            self.print_line(messages::problem(trouble));
        }
    }

    fn print_line(&mut self, line: String) {
        if self.lines.last() != Some(&line) {
            super::super::print_line(&line);
            self.lines = vec![line];
        }
    }

    fn draw(&mut self, lines: Vec<String>) {
        if lines == self.lines {
            return;
        }
        drop(eprint(&Printable::in_place_of(self.lines.len(), lines.iter().map(String::as_str))));
        self.lines = lines;
    }
}

fn head(recycle: &Recycle, trouble: Option<&str>) -> String {
    let all = recycle.instances.len();
    let gone = recycle.instances.iter().filter(|one| one.state == InstanceState::Gone).count();
    let mut line = messages::replaced(&recycle.group, recycle.step.as_str(), gone, all);
    if let Some(why) = trouble.or(recycle.message.as_deref()) {
        line.push_str(": ");
        line.push_str(why);
    }
    line
}

fn members(recycle: &Recycle, snapshot: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    let row = |id: &str, node: Option<&str>, state: &str| {
        format!("  {id:20} {:45} {state}", node.unwrap_or("-"))
    };
    for instance in &recycle.instances {
        let state = match instance.state {
            InstanceState::Waiting => "waiting",
            InstanceState::Draining => "draining",
            InstanceState::Terminating => "terminating",
            InstanceState::Gone => "gone",
            InstanceState::Kept => "skipped",
        };
        lines.push(row(&instance.id, instance.node.as_deref(), state));
    }
    if let Some(group) = snapshot.group.present() {
        let is_old = |id: &str| recycle.instances.iter().any(|instance| instance.id == id);
        for member in group.members.iter().filter(|member| !is_old(&member.id.0)) {
            let node = snapshot.nodes.get(&member.id);
            let state = match (&member.lifecycle, node.map(|node| node.is_ready())) {
                (Lifecycle::InService, Some(true)) => "new, ready",
                (Lifecycle::InService, _) => "new, waiting for its node",
                (Lifecycle::Pending, _) => "new, pending",
                _ => "new, terminating",
            };
            lines.push(row(&member.id.0, node.map(|node| &*node.meta.key.name), state));
        }
    }
    lines
}
