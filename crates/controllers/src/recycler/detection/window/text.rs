//! A tally as text, to be stored: `29500000:7 29500001:2:9f3c1a20,b1`. Minutes and counts are decimal, subjects
//! hexadecimal.

use std::fmt;
use std::str::FromStr;

use super::Tally;

/// A text that is no tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a tally")]
pub struct NotATally;

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (minute, bucket) in &self.buckets {
            write!(f, "{between}{minute}:{}", bucket.occurrences)?;
            let mut before = ":";
            for subject in &bucket.subjects {
                write!(f, "{before}{subject:x}")?;
                before = ",";
            }
            between = " ";
        }
        Ok(())
    }
}

impl FromStr for Tally {
    type Err = NotATally;

    fn from_str(text: &str) -> Result<Self, NotATally> {
        let mut tally = Self::default();
        for part in text.split_ascii_whitespace() {
            let mut fields = part.split(':');
            let minute = fields.next().and_then(|it| it.parse().ok()).ok_or(NotATally)?;
            let times = fields.next().and_then(|it| it.parse().ok()).ok_or(NotATally)?;
            let subjects = fields.next().into_iter().flat_map(|list| list.split(','));
            let subjects =
                subjects.map(|hash| u32::from_str_radix(hash, 16).map_err(|_| NotATally));
            let subjects = subjects.collect::<Result<Vec<_>, _>>()?;
            if fields.next().is_some() {
                return Err(NotATally);
            }
            tally.put(minute, times, subjects);
        }
        Ok(tally)
    }
}
