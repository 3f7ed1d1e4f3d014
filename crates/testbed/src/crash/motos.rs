//! A moto for each place of the harness.

use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::sync::OnceCell;

use crate::aws::Moto;

/// A moto for each place where worlds are, started when the first world needs it. moto does one thing at a time, and
/// is slower the more is in it, so no two worlds share one at a time, and each finds it empty.
#[derive(Debug)]
pub(super) struct Motos(Vec<OnceCell<Arc<Moto>>>);

impl Motos {
    pub(super) fn new(places: usize) -> Self {
        Self((0..places).map(|_| OnceCell::new()).collect())
    }

    /// The moto of a place, with nothing in it. Whatever was there before is over.
    pub(super) async fn emptied(&self, place: usize) -> Result<&Arc<Moto>> {
        let moto = self.0.get(place).with_context(|| format!("there is no place {place}"))?;
        let start = async || Moto::start_bare().await.map(Arc::new);
        let moto = moto.get_or_try_init(start).await?;
        moto.reset().await?;
        Ok(moto)
    }
}
