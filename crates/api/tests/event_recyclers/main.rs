//! The definition of EventRecyclers on a real API server: objects as kaws's users have them, and what the schema adds.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod server;
#[cfg(test)]
mod versions;
