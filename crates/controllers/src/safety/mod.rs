//! What the freezes count that machinist finds by itself. Pure, apart from reading caches and asking for a recount. Not
//! here: when a freeze begins and ends (`machinist_domain::safety::threshold`).

mod not_ready;

pub(crate) use self::not_ready::{count_nodes, count_nodes_of_machines};
