//! The definition of EventRecyclers on a real API server: objects as kaws's users have them, and what the schema adds.

mod admission;
mod server;
mod versions;
