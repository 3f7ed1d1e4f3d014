//! Why the cluster's settings are not known decides what is reported.

use std::sync::Arc;

use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::cloud::Effect;
use machinist_provider::node_groups::NodeGroups as _;
use machinist_provider::platform::Platform;
use serde_json::value::RawValue;

use super::{AutoScaling, ambient};
use crate::client::Connector;
use crate::samples::parts;

struct Settings(Result<&'static str, Category>);

const TEXT: &str = "not allowed to read Infrastructure cluster; grant it";

impl Platform for Settings {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let status = self.0.map(|text| Arc::<RawValue>::from(raw(text)));
        let failure = |category| {
            let (retry, message) = (Retry::Backoff, TEXT.to_owned());
            Failure { category, retry, message }
        };
        Box::pin(std::future::ready(status.map(Some).map_err(failure)))
    }
}

#[tokio::test]
async fn a_missing_right_to_the_settings_is_no_outage() {
    for (settings, expected) in [
        (Err(Category::Unauthorised), Category::Unauthorised),
        (Err(Category::Unavailable), Category::Unavailable),
        (Ok(r#"{"aws": {"ipFamily": "IPv9"}}"#), Category::Unexpected),
    ] {
        let parts = parts(Settings(settings));
        let groups = AutoScaling::new(&parts, ambient(), Connector::new(&parts, Arc::default()));
        let error = groups.describe("eu-west-1", &["workers".into()]).await.unwrap_err();
        assert_eq!((error.class, error.effect), (expected, Effect::None), "{error}");
        assert!(settings.is_ok() || error.message == TEXT, "{error}");
        let connector = Connector::new(&parts, Arc::default());
        let error = connector.sts_endpoint().await.unwrap_err();
        assert_eq!((error.category(), error.retry()), (expected, Retry::Backoff), "{error}");
    }
}
