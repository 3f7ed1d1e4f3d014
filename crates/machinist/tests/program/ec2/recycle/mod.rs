//! `machinist recycle` as a process, against a real API server and Auto Scaling on moto: what it prints, what it
//! changes, and that it can be stopped and killed.

mod groups;
mod run;
mod search;
mod stopped;
mod watch;
mod yard;
