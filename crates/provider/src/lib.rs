//! The contract between controllers and a cloud, in domain terms.
//!
//! A provider has two halves. The spec half ([`spec`]) is pure: it reads the raw provider spec of a machine and says what it asks for. The
//! cloud half ([`cloud`]) creates, shows and removes instances; [`capacity`] is what an instance of some type gives, as the
//! cloud says, and [`node_groups`] what it keeps at a size by itself. [`provider`] joins them under a name and chooses among
//! several. [`parts`] is what a provider is given: [`secret`] is how it gets at credentials, [`platform`] what the cluster says of its cloud, and [`witness`] how its calls are counted.
//!
//! No type of any cloud's SDK crosses this line. With the feature `conformance` there are the checks that every provider passes, and tokio; without
//! it nothing here does any IO.

pub mod capacity;
pub mod cloud;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod lookups;
pub mod node_groups;
pub mod parts;
pub mod platform;
pub mod provider;
pub mod secret;
pub mod spec;
pub mod witness;

use std::pin::Pin;

/// A future that a trait object can return.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
