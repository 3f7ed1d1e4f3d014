//! The form that most kinds have: metadata, spec and status. A part that is not read is an [`IgnoredAny`].

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IgnoredAny};
use serde_json::value::RawValue;

use super::{Metadata, lenient};
use crate::event_recycler::{EventRecyclerSpec, EventRecyclerStatus};

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "Spec: Deserialize<'de> + Default, Status: Deserialize<'de> + Default")]
pub struct Object<Spec, Status = IgnoredAny> {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: Spec,
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: Status,
}

/// Spec and status are the full types: there are few objects, and every field of them is read.
pub type EventRecycler = Object<Option<EventRecyclerSpec>, EventRecyclerStatus>;

/// A value as it is written, and the parts of it that are read here.
#[derive(Debug, Default, Clone)]
pub struct Raw<T> {
    pub raw: Option<Box<RawValue>>,
    pub parts: T,
}

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Raw<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let parts = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self { raw: Some(raw), parts })
    }
}
