//! The contract between controllers and a cloud, in domain terms.
//!
//! A provider has two halves. The spec half ([`spec`]) is pure: it reads the raw provider spec of a machine and says what it asks for. The
//! cloud half begins with [`capacity`]: what a machine of some type gives, as the cloud says. [`secret`] is how a provider
//! gets at credentials, and [`witness`] how its calls are counted. What creates machines comes with the controllers that do.
//!
//! No type of any cloud's SDK crosses this line.

pub mod capacity;
pub mod secret;
pub mod spec;
pub mod witness;

use std::pin::Pin;

/// A future that a trait object can return.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
