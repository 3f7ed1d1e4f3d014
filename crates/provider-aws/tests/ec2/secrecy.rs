//! No value of a Secret is logged at any level, printed, or part of a message.

use std::io;
use std::sync::Arc;

use machinist_provider::access::CloudAccess;
use machinist_testbed::aws::{Effect, Rule};
use parking_lot::Mutex;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Fixture, TYPES, access, bed, secret};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// One thread, so that its subscriber receives the logs of every task.
#[tokio::test(flavor = "current_thread")]
async fn secrets_are_not_logged() {
    let log = Captured::default();
    let bed = bed().await;
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(log.clone())
        .finish();
    let _hearing = tracing::subscriber::set_default(subscriber);

    let fixture = Fixture::new();
    let values = ["AKIASECRETID", "secretkeyvalue", "sessiontokenvalue", "AKIABASEID", "basekey"];
    let [id, key, token, base_id, base_key] = values;
    fixture.secrets.put(
        "keys",
        &[("aws_access_key_id", id), ("aws_secret_access_key", key), ("aws_session_token", token)],
    );
    let file = format!(
        "[default]\naws_access_key_id={id}\naws_secret_access_key={key}\naws_session_token={token}\n"
    );
    fixture.secrets.put("file", &[("credentials", &file)]);
    let role = format!(
        "[default]\nrole_arn = arn:aws:iam::123456789012:role/m\nsource_profile = base\n\
         endpoint_url = {}\n[base]\naws_access_key_id = {base_id}\n\
         aws_secret_access_key = {base_key}\n",
        bed.endpoint_url()
    );
    fixture.secrets.put("role", &[("credentials", &role)]);
    let broken = format!("[default]\n{key}\naws_access_key_id = {id}\n");
    fixture.secrets.put("broken", &[("credentials", &broken)]);
    fixture.secrets.put("half", &[("aws_secret_access_key", key)]);

    let access = |name| CloudAccess { credentials: secret(name, 1), ..access(&bed.endpoint_url()) };
    for name in ["keys", "file", "role"] {
        fixture.capacity(&access(name), "m5.large").await;
        bed.front().inject(Rule::next(TYPES, Effect::Throttle));
        fixture.failure(&access(name), "m5.xlarge").await;
    }
    let mut output = format!("{:?}", fixture.source);
    for name in ["broken", "half"] {
        output.push_str(&fixture.failure(&access(name), "m5.large").await.message);
    }

    let log = String::from_utf8(log.0.lock().clone()).unwrap();
    assert!(log.contains("cannot fetch instance types from EC2"), "logs are captured: {log}");
    for value in values {
        assert!(!log.contains(value), "{value} is in the log:\n{log}");
        assert!(!output.contains(value), "{value} is in the output: {output}");
    }
}
