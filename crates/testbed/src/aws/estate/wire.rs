//! Calls of the test itself, straight to moto: not disturbed, delayed or counted.

use anyhow::{Context, Result};

use crate::aws::front::Upstream;
use crate::aws::front::query::Query;
use crate::aws::front::xml::Element;

const OWNER: &str = "AKIATRUTH";

#[derive(Debug, Clone, Copy)]
pub(super) enum Service {
    Ec2,
    Classic,
    Network,
    Scaling,
}

impl Service {
    /// Name and version of the API.
    const fn api(self) -> [&'static str; 2] {
        match self {
            Self::Ec2 => ["ec2", "2016-11-15"],
            Self::Classic => ["elasticloadbalancing", "2012-06-01"],
            Self::Network => ["elasticloadbalancing", "2015-12-01"],
            Self::Scaling => ["autoscaling", "2011-01-01"],
        }
    }
}

#[derive(Debug)]
pub(super) struct Wire {
    pub(super) upstream: Upstream,
    pub(super) region: String,
}

impl Wire {
    pub(super) async fn ask(
        &self,
        service: Service,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Element> {
        let question = Query::question([OWNER, &self.region], service.api(), action, parameters);
        let answer = self.upstream.forward(&question).await?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        answer.document().with_context(|| format!("{action} of the test itself: {text}"))
    }

    pub(super) async fn ec2(&self, action: &str, parameters: &[(&str, &str)]) -> Result<Element> {
        self.ask(Service::Ec2, action, parameters).await
    }
}
