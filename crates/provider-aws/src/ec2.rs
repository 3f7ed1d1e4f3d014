//! The EC2 client, and its calls for types and regions. Every page is one counted call.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_ec2::Client;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::operation::describe_instance_types::builders::DescribeInstanceTypesFluentBuilder;
use aws_sdk_ec2::types::Filter;
use machinist_aws_spec::InstanceType;
use machinist_domain::retry::Classified;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::metrics::{CallMetrics, NoMetrics};
use machinist_provider::platform::NoPlatform;
use machinist_provider::secret::SecretReader;

use crate::client::Connector;
use crate::errors::AwsError;
use crate::facts;
use crate::quiet::quiet;
use crate::types::TypeTimings;

const TYPES: &str = "DescribeInstanceTypes";
const REGIONS: &str = "DescribeRegions";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionFacts {
    pub(crate) name: String,
    pub(crate) opted_in: bool,
}

pub(crate) struct Ec2 {
    pub(crate) client: Client,
    pub(crate) access: CloudAccess,
    pub(crate) shared: aws_config::SdkConfig,
    pub(crate) metrics: Arc<dyn CallMetrics>,
}

impl Ec2 {
    /// By filter: one unknown name would fail a call by name.
    pub(crate) async fn types(
        &self,
        names: &[Arc<str>],
    ) -> Result<Vec<InstanceType<'static>>, AwsError> {
        let names = names.iter().map(ToString::to_string).collect();
        let filter = Filter::builder().name("instance-type").set_values(Some(names)).build();
        self.pages(self.client.describe_instance_types().filters(filter)).await
    }

    pub(crate) async fn all_types(&self) -> Result<Vec<InstanceType<'static>>, AwsError> {
        self.pages(self.client.describe_instance_types()).await
    }

    /// All pages. An empty page is not necessarily the last.
    async fn pages(
        &self,
        call: DescribeInstanceTypesFluentBuilder,
    ) -> Result<Vec<InstanceType<'static>>, AwsError> {
        let mut pages = call.into_paginator().send();
        let mut types = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            let page = self.record(TYPES, page)?;
            types.extend(page.instance_types().iter().filter_map(facts::read));
        }
        Ok(types)
    }

    pub(crate) async fn regions(&self) -> Result<Vec<RegionFacts>, AwsError> {
        let call = self.client.describe_regions().all_regions(true);
        let answer = self.call(REGIONS, call.send()).await?;
        let facts = |region: &aws_sdk_ec2::types::Region| {
            Some(RegionFacts {
                name: region.region_name()?.to_owned(),
                opted_in: region.opt_in_status() != Some("not-opted-in"),
            })
        };
        Ok(answer.regions().iter().filter_map(facts).collect())
    }

    /// Sends a request without logs, counts it and converts its error.
    pub(crate) fn call<T, E>(
        &self,
        operation: &'static str,
        request: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> impl Future<Output = Result<T, AwsError>>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        // The SDK's futures take tens of kilobytes.
        let request = Box::pin(quiet(request));
        async move { self.record(operation, request.await) }
    }

    pub(crate) fn record<T, E>(
        &self,
        operation: &'static str,
        answer: Result<T, SdkError<E>>,
    ) -> Result<T, AwsError>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let from_secret = matches!(self.access.credentials, Credentials::Secret { .. });
        let answer = answer.map_err(|error| AwsError::of(operation, &error, from_secret));
        let result = answer.as_ref().map_or_else(|error| error.category().as_str(), |_| "ok");
        self.metrics.record_call(operation, result);
        answer
    }
}

/// All instance types of the region, sorted by name; for the catalogue.
pub async fn all_types(
    secrets: Arc<dyn SecretReader>,
    access: &CloudAccess,
) -> Result<Vec<InstanceType<'static>>, AwsError> {
    let connector = Connector {
        secrets,
        metrics: Arc::new(NoMetrics),
        request_timeout: TypeTimings::default().request_timeout,
        http: Arc::default(),
        platform: Arc::new(NoPlatform),
    };
    let mut types = connector.connect(access).await?.all_types().await?;
    types.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(types)
}
