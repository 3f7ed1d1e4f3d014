#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, value: f64) {
        let at = self.0.partition_point(|other| *other <= value);
        self.0.insert(at, value);
    }

    /// Not a number where nothing was measured.
    pub(crate) fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        match (self.0.get(middle), self.0.len() % 2) {
            (None, _) => f64::NAN,
            (Some(value), 1) => *value,
            (Some(value), _) => f64::midpoint(self.0[middle - 1], *value),
        }
    }

    pub(crate) fn min(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut samples = Self::default();
        for value in values {
            samples.push(value);
        }
        samples
    }
}

/// One run of the client's before each of ours, and one after the last.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) ours: Vec<f64>,
    pub(crate) limit: Vec<f64>,
}

impl Comparison {
    pub(crate) fn ours(&self) -> Samples {
        self.ours.iter().copied().collect()
    }

    pub(crate) fn limit(&self) -> Samples {
        self.limit.iter().copied().collect()
    }

    /// Each run against the two replays around it: what the machine did meanwhile happened to both.
    pub(crate) fn ratios(&self) -> Samples {
        let around = self.limit.windows(2).map(|pair| pair.iter().copied().collect::<Samples>());
        self.ours.iter().zip(around).map(|(ours, limit)| ours / limit.median()).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> [f64; 3] {
        let samples: Samples = values.iter().copied().collect();
        [samples.min(), samples.median(), samples.max()]
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "halves of small whole numbers are exact")]
    fn the_middle_and_the_ends() {
        assert_eq!(summary(&[3.0, 1.0, 2.0]), [1.0, 2.0, 3.0]);
        assert_eq!(summary(&[4.0, 1.0, 2.0, 9.0]), [1.0, 3.0, 9.0]);
        assert_eq!(summary(&[5.0]), [5.0, 5.0, 5.0]);
        assert!(Samples::default().median().is_nan());
    }
}
