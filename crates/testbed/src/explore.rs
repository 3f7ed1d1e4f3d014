//! Visits every state that a model can reach, breadth first, so that a counterexample is a shortest one. Then it checks
//! that every visited state leads to a desired one by ordinary steps alone, which is what remains when faults cease.
//!
//! A model has few names and small numbers; [`Model::canonical`] maps states that differ only by names to one of them.
//! States are stored once and found by hash; equal hashes are told apart.

mod fate;
pub mod objects;

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::time::{Duration, Instant};

pub use self::fate::Fate;

/// What fits into the memory of a small machine.
const LIMIT: usize = 50_000_000;

pub trait Model {
    type State: Clone + Eq + Hash + Debug;
    type Action: Copy + Debug;

    fn start(&self) -> Self::State;

    /// Adds every step from `state`.
    fn next(&self, state: &Self::State, steps: &mut Steps<Self>);

    /// Whether this is a desired state: nothing is left to do.
    fn is_desired(&self, state: &Self::State) -> bool;

    /// The representative of all states that are equal but for names.
    fn canonical(&self, state: Self::State) -> Self::State {
        state
    }
}

/// The steps from one state.
#[derive(Debug)]
pub struct Steps<M: Model + ?Sized>(Vec<Step<M::State, M::Action>>);

#[derive(Debug)]
struct Step<S, A> {
    action: A,
    is_ordinary: bool,
    to: Result<S, String>,
}

impl<M: Model + ?Sized> Steps<M> {
    /// A step that happens by itself; `Err` names the invariant that it breaks.
    pub fn ordinary(&mut self, action: M::Action, to: Result<M::State, String>) {
        self.0.push(Step { action, is_ordinary: true, to });
    }

    /// A fault, or what a user does.
    pub fn disturbance(&mut self, action: M::Action, to: Result<M::State, String>) {
        self.0.push(Step { action, is_ordinary: false, to });
    }
}

#[derive(Debug)]
struct Explored {
    states: usize,
    steps: usize,
    /// The length of the longest shortest path.
    depth: usize,
    desired: usize,
    took: Duration,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, steps, depth, desired, took } = self;
        let took = took.as_secs_f64();
        write!(f, "{states} states ({desired} desired), {steps} steps, depth {depth}, {took:.1} s")
    }
}

/// A shortest path to a state that breaks an invariant.
pub struct Counterexample {
    pub broken: String,
    pub path: Vec<String>,
    /// The state before the last step.
    pub state: String,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.broken)?;
        for (at, action) in self.path.iter().enumerate() {
            writeln!(f, "{:3}. {action}", at + 1)?;
        }
        write!(f, "     {}", self.state)
    }
}

/// As tests print it.
impl Debug for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether `make explore` runs, which visits larger worlds than the gate.
pub fn is_large() -> bool {
    std::env::var_os("MACHINIST_EXPLORE").is_some()
}

/// Explores a model and prints its size.
pub fn explore<M: Model>(name: &str, model: &M) -> Result<(), Counterexample> {
    let explored = search(model, LIMIT)?;
    println!("explored {name}: {explored}");
    Ok(())
}

/// Explores a model with a seeded bug and returns what it has found.
pub fn find_bug<M: Model>(model: &M) -> anyhow::Result<Counterexample> {
    match search(model, LIMIT) {
        Ok(explored) => anyhow::bail!("the bug is not found in {explored}"),
        Err(found) => Ok(found),
    }
}

fn search<M: Model>(model: &M, limit: usize) -> Result<Explored, Counterexample> {
    let began = Instant::now();
    let mut visited = Visited::<M>::new(model.canonical(model.start()));
    let (mut edges, mut count, mut at) = (Vec::new(), 0, 0);
    let mut steps = Steps(Vec::new());
    while let Some(state) = visited.states.get(at) {
        model.next(state, &mut steps);
        count += steps.0.len();
        for Step { action, is_ordinary, to } in steps.0.drain(..) {
            let to = match to {
                Ok(to) => model.canonical(to),
                Err(broken) => return Err(visited.counterexample(broken, at, Some(action))),
            };
            let to = visited.add(to, at, action);
            if is_ordinary && to != at {
                edges.push((to, at));
            }
        }
        if visited.states.len() > limit {
            return Err(visited.counterexample(format!("more than {limit} states"), at, None));
        }
        at += 1;
    }
    let is_desired: Vec<bool> =
        visited.states.iter().map(|state| model.is_desired(state)).collect();
    let desired = is_desired.iter().filter(|is| **is).count();
    if let Some(stuck) = first_without_way(is_desired, &mut edges) {
        let broken = "no path to a desired state, although faults have ceased".to_owned();
        return Err(visited.counterexample(broken, stuck, None));
    }
    let depth = visited.path(visited.states.len() - 1).len();
    let states = visited.states.len();
    Ok(Explored { states, steps: count, depth, desired, took: began.elapsed() })
}

/// The first state from which no edge path leads to a desired one. Edges are (to, from).
fn first_without_way(mut leads: Vec<bool>, edges: &mut [(usize, usize)]) -> Option<usize> {
    edges.sort_unstable();
    let mut open: Vec<usize> = (0..leads.len()).filter(|state| leads[*state]).collect();
    while let Some(to) = open.pop() {
        let first = edges.partition_point(|(target, _)| *target < to);
        for (_, from) in edges[first..].iter().take_while(|(target, _)| *target == to) {
            if !leads[*from] {
                leads[*from] = true;
                open.push(*from);
            }
        }
    }
    leads.iter().position(|leads| !leads)
}

struct Visited<M: Model> {
    states: Vec<M::State>,
    /// Where a state was first reached from, and how; the start has none.
    parents: Vec<Option<(usize, M::Action)>>,
    by_hash: HashMap<u64, usize, BuildHasherDefault<Hashed>>,
}

impl<M: Model> Visited<M> {
    fn new(start: M::State) -> Self {
        let by_hash = [(hash(&start), 0)].into_iter().collect();
        Self { states: vec![start], parents: vec![None], by_hash }
    }

    fn add(&mut self, state: M::State, from: usize, action: M::Action) -> usize {
        let mut hash = hash(&state);
        while let Some(at) = self.by_hash.get(&hash) {
            if self.states[*at] == state {
                return *at;
            }
            hash = hash.wrapping_add(1);
        }
        let at = self.states.len();
        self.by_hash.insert(hash, at);
        self.states.push(state);
        self.parents.push(Some((from, action)));
        at
    }

    fn path(&self, mut at: usize) -> Vec<M::Action> {
        let mut path = Vec::new();
        while let Some((from, action)) = self.parents[at] {
            path.push(action);
            at = from;
        }
        path.reverse();
        path
    }

    fn counterexample(&self, broken: String, at: usize, last: Option<M::Action>) -> Counterexample {
        let actions = self.path(at).into_iter().chain(last);
        let path = actions.map(|action| format!("{action:?}")).collect();
        Counterexample { broken, path, state: format!("{:?}", self.states[at]) }
    }
}

fn hash(state: &impl Hash) -> u64 {
    let mut hasher = Mixed::default();
    state.hash(&mut hasher);
    hasher.finish()
}

/// A fast hash of small states; not for keys that others choose.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// A key that is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
