use super::*;

/// A counter that goes up by itself and is reset by a fault.
struct Counter {
    end: u32,
    forbidden: Option<u32>,
    trap: Option<u32>,
    modulus: u32,
}

impl Default for Counter {
    fn default() -> Self {
        Self { end: 9, forbidden: None, trap: None, modulus: u32::MAX }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Up,
    Reset,
    Jump,
}

impl Model for Counter {
    type State = u32;
    type Action = Action;

    fn start(&self) -> u32 {
        0
    }

    fn next(&self, state: &u32, steps: &mut Steps<Self>) {
        if *state < self.end && self.trap != Some(*state) {
            let up = state + 1;
            let to = if self.forbidden == Some(up) { Err(format!("{up}")) } else { Ok(up) };
            steps.ordinary(Action::Up, to);
        }
        steps.disturbance(Action::Reset, Ok(0));
        if let Some(trap) = self.trap {
            steps.disturbance(Action::Jump, Ok(trap));
        }
    }

    fn is_desired(&self, state: &u32) -> bool {
        *state == self.canonical(self.end)
    }

    fn canonical(&self, state: u32) -> u32 {
        state % self.modulus
    }
}

#[test]
fn every_state_is_visited_once() {
    let explored = search(&Counter::default(), 100).unwrap();
    assert_eq!((explored.states, explored.depth, explored.desired), (10, 9, 1));
    assert_eq!(explored.steps, 19);
}

#[test]
fn states_that_are_equal_but_for_names_are_one() {
    let explored = search(&Counter { modulus: 5, ..Counter::default() }, 100).unwrap();
    assert_eq!(explored.states, 5);
}

#[test]
fn counterexample_is_a_shortest_path() {
    let found = search(&Counter { forbidden: Some(3), ..Counter::default() }, 100).unwrap_err();
    assert_eq!((found.broken.as_str(), found.path), ("3", vec!["Up".to_owned(); 3]));
}

#[test]
fn state_without_a_way_to_the_desired_one_is_found() {
    let found = search(&Counter { trap: Some(30), ..Counter::default() }, 100).unwrap_err();
    assert_eq!(found.path, ["Jump"]);
    assert!(found.broken.contains("no path"), "{found}");
}

#[test]
fn model_that_is_too_large_is_refused() {
    assert!(search(&Counter::default(), 5).unwrap_err().broken.contains("more than 5"));
}
