//! Is an answer one of AWS?
//!
//! Something on the way (a proxy, a page to log in to a network) may say "200" with a page of its own. The SDK notices where it reads the answer, and many
//! answers it does not read: whoever registers a target, or sets a tag, hears nothing but that it was done. An answer that was cut off in the middle reads
//! like a shorter one. So every answer that says it is a success must be the whole document of its operation; any other is an error
//! ([`Garbled`](crate::errors::AwsError::Garbled)), and nobody knows what was done.
//!
//! Not here: refusals, which the SDK always reads; STS and the metadata service, whose answers are nothing without what is read from them.

use aws_sdk_ec2::config::ConfigBag;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::AfterDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// How much of a page is shown to people.
const SHOWN: usize = 40;

/// Refuses successes that are not the document that belongs to the operation. For every client.
#[derive(Debug)]
pub(crate) struct WholeDocuments;

/// Why an answer is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum NoAnswer {
    #[error("it is no {root}, but begins with {start:?}")]
    Another { root: String, start: String },
    #[error("it ends before the end of {root}")]
    CutOff { root: String },
}

impl Intercept for WholeDocuments {
    fn name(&self) -> &'static str {
        "WholeDocuments"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let answer = context.response();
        // Without a body the answer broke off, and the SDK has said so.
        let (Some(body), Some(call)) = (answer.body().bytes(), config.load::<Metadata>()) else {
            return Ok(());
        };
        if answer.status().is_success() {
            check(call.name(), &String::from_utf8_lossy(body))?;
        }
        Ok(())
    }
}

/// Whether this is the whole answer to the operation: `<OperationResponse …> … </OperationResponse>`, as both of AWS's XML protocols have it.
fn check(operation: &str, body: &str) -> Result<(), NoAnswer> {
    let root = format!("{operation}Response");
    let document = body.trim_start_matches('\u{feff}').trim();
    let inside = without_declaration(document).strip_prefix('<');
    let inside = inside.and_then(|inside| inside.strip_prefix(root.as_str()));
    let rest = inside.filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
    let Some(rest) = rest else {
        let start = document.chars().take(SHOWN).collect();
        return Err(NoAnswer::Another { root, start });
    };
    let is_empty = rest.ends_with("/>") && !rest.trim_end_matches("/>").contains('>');
    if is_empty || rest.ends_with(&format!("</{root}>")) {
        return Ok(());
    }
    Err(NoAnswer::CutOff { root })
}

fn without_declaration(document: &str) -> &str {
    let declared = document.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>"));
    declared.map_or(document, |(_, rest)| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_of_the_operation_is_an_answer() {
        for body in [
            "<RegisterTargetsResponse xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\">\n\
             <RegisterTargetsResult/></RegisterTargetsResponse>",
            "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n\r\n<RegisterTargetsResponse></RegisterTargetsResponse>\n",
            "<RegisterTargetsResponse xmlns=\"x\" />",
        ] {
            assert_eq!(check("RegisterTargets", body), Ok(()), "{body}");
        }
    }

    #[test]
    fn anything_else_is_none() {
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
            let said = check("RegisterTargets", body);
            assert!(matches!(said, Err(NoAnswer::Another { .. })), "{body}: {said:?}");
        }
    }

    #[test]
    fn half_a_document_is_none() {
        for body in [
            "<DescribeInstancesResponse>",
            "<DescribeInstancesResponse><reservationSet/>",
            "<DescribeInstancesResponse><reservationSet><item></item></reservationSet></DescribeInstancesRes",
        ] {
            let said = check("DescribeInstances", body);
            assert!(matches!(said, Err(NoAnswer::CutOff { .. })), "{body}: {said:?}");
        }
    }

    #[test]
    fn people_are_shown_how_it_begins_and_no_more() {
        let page = format!("<html>{}", "ä".repeat(500));
        let said = check("RunInstances", &page).unwrap_err().to_string();
        assert!(said.starts_with("it is no RunInstancesResponse, but begins with \"<html>ä"));
        assert!(said.chars().count() < 120, "{said}");
    }
}
