//! Rejects successful responses that are not the complete document: a proxy or a login page may return 200 with a page
//! of its own, and a truncated response reads like a shorter one. The SDK ignores some bodies, as for
//! `RegisterTargets`.

use aws_sdk_ec2::config::ConfigBag;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::AfterDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

use crate::messages;

const SHOWN: usize = 40;

#[derive(Debug)]
pub(crate) struct CompleteResponses;

impl Intercept for CompleteResponses {
    fn name(&self) -> &'static str {
        "CompleteResponses"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let answer = context.response();
        // Without a body the SDK has reported an error already.
        let (Some(body), Some(call)) = (answer.body().bytes(), config.load::<Metadata>()) else {
            return Ok(());
        };
        if answer.status().is_success() {
            check(call.name(), &String::from_utf8_lossy(body))?;
        }
        Ok(())
    }
}

/// The document is `<OperationResponse …> … </OperationResponse>` in both of AWS's XML protocols.
fn check(operation: &str, body: &str) -> Result<(), String> {
    let root = format!("{operation}Response");
    let document = body.trim_start_matches('\u{feff}').trim();
    let inside = without_declaration(document).strip_prefix('<');
    let inside = inside.and_then(|inside| inside.strip_prefix(root.as_str()));
    let rest = inside.filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
    let Some(rest) = rest else {
        let start: String = document.chars().take(SHOWN).collect();
        return Err(messages::unexpected_document(&root, &start));
    };
    let is_empty = rest.ends_with("/>") && !rest.trim_end_matches("/>").contains('>');
    if is_empty || rest.ends_with(&format!("</{root}>")) {
        return Ok(());
    }
    Err(messages::truncated_document(&root))
}

fn without_declaration(document: &str) -> &str {
    let declared = document.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>"));
    declared.map_or(document, |(_, rest)| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_document_of_the_operation() {
        for body in [
            "<RegisterTargetsResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\">\n\
             <RegisterTargetsResult/></RegisterTargetsResponse>",
            "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n\r\n\
             <RegisterTargetsResponse></RegisterTargetsResponse>\n",
            "<RegisterTargetsResponse xmlns=\"x\" />",
        ] {
            assert_eq!(check("RegisterTargets", body), Ok(()), "{body}");
        }
    }

    #[test]
    fn rejects_other_documents() {
        for body in [
            "",
            "OK",
            "<!doctype html><title>Welcome</title>",
            "<html><RegisterTargetsResponse></RegisterTargetsResponse></html>",
            "<?xml version=\"1.0\"?><html/>",
            "<?xml version=\"1.0\"",
            "<DeregisterTargetsResponse></DeregisterTargetsResponse>",
            "<RegisterTargetsResponses></RegisterTargetsResponses>",
            "{\"RegisterTargetsResponse\": {}}",
        ] {
            let error = check("RegisterTargets", body).unwrap_err();
            assert!(error.starts_with("expected RegisterTargetsResponse, got "), "{body}: {error}");
        }
    }

    #[test]
    fn rejects_truncated_documents() {
        for body in [
            "<DescribeInstancesResponse>",
            "<DescribeInstancesResponse><reservationSet/>",
            "<DescribeInstancesResponse><reservationSet><item></item></reservationSet></DescribeInstancesRes",
        ] {
            let error = check("DescribeInstances", body).unwrap_err();
            assert_eq!(error, "DescribeInstancesResponse is truncated", "{body}");
        }
    }

    #[test]
    fn message_contains_the_start_of_the_page() {
        let page = format!("<html>{}", "ä".repeat(500));
        let error = check("RunInstances", &page).unwrap_err();
        assert!(error.starts_with("expected RunInstancesResponse, got \"<html>ä"));
        assert!(error.chars().count() < 120, "{error}");
    }
}
