use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::sync::OnceCell;

use crate::aws::Moto;

/// moto does one thing at a time and is slower the more is in it, so each world has an empty one to itself.
#[derive(Debug)]
pub(super) struct Motos(Vec<OnceCell<Arc<Moto>>>);

impl Motos {
    pub(super) fn new(places: usize) -> Self {
        Self((0..places).map(|_| OnceCell::new()).collect())
    }

    pub(super) async fn emptied(&self, place: usize) -> Result<&Arc<Moto>> {
        let moto = self.0.get(place).with_context(|| format!("there is no place {place}"))?;
        let start = async || Moto::start_bare().await.map(Arc::new);
        let moto = moto.get_or_try_init(start).await?;
        moto.reset().await?;
        Ok(moto)
    }
}
