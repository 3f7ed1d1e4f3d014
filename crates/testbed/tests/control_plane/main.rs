//! Control planes as tests use them: what starts, what stops, what is left.

#[cfg(test)]
mod companions;
#[cfg(test)]
mod lifetime;
#[cfg(test)]
mod oldest_version;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod start;
#[cfg(test)]
mod support;
