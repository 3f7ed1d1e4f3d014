//! The formats of AWS names and ids.

/// `<prefix>-` and 8 (old) or 17 hexadecimal digits.
pub(super) fn is_id(text: &str, prefix: &str) -> bool {
    let digits = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| is_hex(digits) && matches!(digits.len(), 8 | 17))
}

pub(super) fn is_reservation(text: &str) -> bool {
    text.strip_prefix("cr-").is_some_and(|digits| is_hex(digits) && digits.len() == 17)
}

pub(super) fn is_instance_type(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && is_word(part);
    text.split_once('.').is_some_and(|(family, size)| is_part(family) && is_part(size))
}

pub(super) fn is_word(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

pub(super) fn is_price(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let number = !whole.is_empty() && !rest.is_empty() && digits(whole) && digits(rest);
    number && text.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0')
}

/// `/dev/sdh`, or `xvdh` without the folder.
pub(super) fn is_device(text: &str) -> bool {
    let name = text.strip_prefix("/dev/").unwrap_or(text);
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !name.is_empty() && name.bytes().all(allowed)
}

pub(super) fn is_profile(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@_-".contains(&byte);
    (1..=128).contains(&text.len()) && text.bytes().all(allowed)
}

pub(super) fn is_balancer(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=32).contains(&text.len()) && text.bytes().all(allowed)
}

pub(crate) fn is_object_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| allowed(*byte));
    let bytes = text.as_bytes();
    let inside = |byte: &u8| allowed(*byte) || matches!(byte, b'-' | b'.');
    text.len() <= 253 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inside)
}

pub(super) fn is_key(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    if let Some(name) = text.strip_prefix("alias/") {
        return !name.is_empty() && name.bytes().all(allowed);
    }
    let id = text.strip_prefix("mrk-").unwrap_or(text);
    let hyphens = id.bytes().filter(|byte| *byte == b'-').count();
    let digits = id.replace('-', "");
    digits.len() == 32 && is_hex(&digits) && matches!(hyphens, 0 | 4)
}

/// `arn:<partition>:kms:<region>:<account>:<key or alias>`.
pub(super) fn is_key_arn(text: &str) -> bool {
    let parts: Vec<_> = text.splitn(6, ':').collect();
    let [arn, partition, service, region, account, resource] = parts[..] else { return false };
    let digits = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let names = resource.strip_prefix("key/").is_some_and(is_key) || resource.starts_with("alias/");
    arn == "arn" && is_word(partition) && service == "kms" && is_word(region) && digits && names
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        for good in ["h-0123abcd", "h-0123456789abcdef0"] {
            assert!(is_id(good, "h"), "{good}");
        }
        for bad in ["", "h-", "h-0123abc", "h-0123ABCD", "i-0123abcd", "h0123abcd", "h-ghijklmn"] {
            assert!(!is_id(bad, "h"), "{bad}");
        }
        assert!(is_reservation("cr-0123456789abcdef0"));
        assert!(!is_reservation("cr-01234567"));
    }

    #[test]
    fn names() {
        for good in ["/dev/sda1", "/dev/xvdb", "xvdh", "/dev/nvme1n1"] {
            assert!(is_device(good), "{good}");
        }
        for bad in ["", "/dev/", "/dev/sd b", "dev/sdb", "/dev/../sdb"] {
            assert!(!is_device(bad), "{bad}");
        }
        assert!(is_profile("prod-x7k2p-worker-profile") && is_profile("a+b=c,d.e@f_g"));
        assert!(!is_profile("") && !is_profile("a/b") && !is_profile(&"a".repeat(129)));
        assert!(
            is_balancer("prod-x7k2p-int") && !is_balancer("a_b") && !is_balancer(&"a".repeat(33))
        );
        assert!(is_object_name("worker-user-data") && is_object_name("a.b"));
        for bad in ["", "-a", "a-", "A", "a/b", "../a", "a_b"] {
            assert!(!is_object_name(bad), "{bad}");
        }
    }

    #[test]
    fn keys() {
        let id = "1f2e3d4c-5b6a-7988-9a0b-c1d2e3f4a5b6";
        for good in [id, "mrk-1f2e3d4c5b6a79889a0bc1d2e3f4a5b6", "alias/ebs", "alias/team/a_b"] {
            assert!(is_key(good), "{good}");
        }
        for bad in ["", "alias/", "ebs", "1f2e3d4c", "arn:aws:kms:x"] {
            assert!(!is_key(bad), "{bad}");
        }
        let arn = |rest: &str| format!("arn:aws-us-gov:kms:us-gov-west-1:123456789012:{rest}");
        assert!(is_key_arn(&arn(&format!("key/{id}"))) && is_key_arn(&arn("alias/ebs")));
        for bad in ["", id, "arn:aws:iam::123456789012:role/x", &arn("key/x")] {
            assert!(!is_key_arn(bad), "{bad}");
        }
    }

    #[test]
    fn words_and_numbers() {
        for good in ["m6i.large", "u-6tb1.metal", "c7gn.16xlarge", "mac2-m2.metal"] {
            assert!(is_instance_type(good), "{good}");
        }
        for bad in ["", "large", ".large", "m6i.", "M6i.large", "m6i.large.x", "m6i large"] {
            assert!(!is_instance_type(bad), "{bad}");
        }
        for good in ["1", "0.05", "12.345"] {
            assert!(is_price(good), "{good}");
        }
        for bad in ["", "0", "0.00", "-1", "1.", ".5", "1,5", "1.2.3", "free"] {
            assert!(!is_price(bad), "{bad}");
        }
    }
}
