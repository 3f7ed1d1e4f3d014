//! The calls to EC2 about types and regions. Every page is one call, counted by the witness; SDK structures do not get further than this
//! file. The calls about instances are in [`calls`](crate::machines).

use std::error::Error;
use std::sync::Arc;

use aws_sdk_ec2::Client;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::operation::describe_instance_types::builders::DescribeInstanceTypesFluentBuilder;
use aws_sdk_ec2::types::Filter;
use machinist_aws_spec::TypeFacts;
use machinist_domain::retry::Classified;
use machinist_provider::capacity::Realm;
use machinist_provider::secret::SecretReader;
use machinist_provider::witness::{Unwitnessed, Witness};

use crate::client::Connector;
use crate::errors::AwsError;
use crate::facts;
use crate::quiet::quiet;
use crate::types::TypeTimings;

const TYPES: &str = "DescribeInstanceTypes";
const REGIONS: &str = "DescribeRegions";

/// What EC2 says about a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegionFacts {
    pub(crate) name: String,
    pub(crate) opted_in: bool,
}

/// EC2, asked as somebody in some region.
pub(crate) struct Ec2 {
    pub(crate) client: Client,
    /// What clients of other services are made of: the same credentials, connections and ways.
    pub(crate) shared: aws_config::SdkConfig,
    /// Whether the credentials are a Secret's.
    pub(crate) from_secret: bool,
    pub(crate) witness: Arc<dyn Witness>,
    pub(crate) page_size: Option<i32>,
}

impl Ec2 {
    /// The types of these names that the region has. By filter and not by name: one unknown name would fail the whole call.
    pub(crate) async fn types(&self, names: &[Arc<str>]) -> Result<Vec<TypeFacts>, AwsError> {
        let names = names.iter().map(ToString::to_string).collect();
        let filter = Filter::builder().name("instance-type").set_values(Some(names)).build();
        self.pages(self.client.describe_instance_types().filters(filter)).await
    }

    /// All types that the region has.
    pub(crate) async fn all_types(&self) -> Result<Vec<TypeFacts>, AwsError> {
        self.pages(self.client.describe_instance_types()).await
    }

    /// Follows an answer to its last page. A page may be empty and not be the last.
    async fn pages(
        &self,
        call: DescribeInstanceTypesFluentBuilder,
    ) -> Result<Vec<TypeFacts>, AwsError> {
        let mut pages = call.set_max_results(self.page_size).into_paginator().send();
        let mut types = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            let page = self.witnessed(TYPES, page)?;
            types.extend(page.instance_types().iter().filter_map(facts::read));
        }
        Ok(types)
    }

    /// All regions of the partition, also those that the account has not switched on.
    pub(crate) async fn regions(&self) -> Result<Vec<RegionFacts>, AwsError> {
        let answer = quiet(self.client.describe_regions().all_regions(true).send()).await;
        let answer = self.witnessed(REGIONS, answer)?;
        let facts = |region: &aws_sdk_ec2::types::Region| {
            Some(RegionFacts {
                name: region.region_name()?.to_owned(),
                opted_in: region.opt_in_status() != Some("not-opted-in"),
            })
        };
        Ok(answer.regions().iter().filter_map(facts).collect())
    }

    /// Tells the witness what came of a call.
    pub(crate) fn witnessed<T, E>(
        &self,
        operation: &'static str,
        answer: Result<T, SdkError<E>>,
    ) -> Result<T, AwsError>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let answer = answer.map_err(|error| AwsError::of(operation, &error, self.from_secret));
        let result = answer.as_ref().map_or_else(|error| error.category().as_str(), |_| "ok");
        self.witness.called(operation, result);
        answer
    }
}

/// Every type that EC2 lists in the realm's region, sorted by name; for the catalogue.
pub async fn all_types(
    secrets: Arc<dyn SecretReader>,
    realm: &Realm,
    page_size: Option<i32>,
) -> Result<Vec<TypeFacts>, AwsError> {
    let connector = Connector {
        secrets,
        witness: Arc::new(Unwitnessed),
        request_timeout: TypeTimings::default().request_timeout,
        page_size,
        http: Arc::default(),
    };
    let mut types = connector.connect(realm).await?.all_types().await?;
    types.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(types)
}
