use landlock::ABI;

use super::files::{OtherRestrictions, execution_status, processes_status, status};
use crate::launch::Status;

#[test]
fn gaps_of_older_kernels_are_reported() {
    let check = |abi: ABI, sockets: bool, expected: &str| {
        let others = OtherRestrictions {
            sockets,
            privileges: true,
            attributes: true,
        };
        assert_eq!(status(Ok(abi), others).to_string(), expected);
        assert_eq!(execution_status(Ok(abi), true), Status::Enforced);
    };
    check(
        ABI::V1,
        true,
        "partly enforced: any file can be truncated (fixed in Linux 6.2); \
         devices it may open accept every ioctl (fixed in Linux 6.10)",
    );
    check(ABI::V5, true, "enforced");
    check(ABI::V6, true, "enforced");
    check(ABI::V7, true, "enforced");
    check(
        ABI::V7,
        false,
        "partly enforced: services can be asked for other files through Unix sockets",
    );
    let as_root = OtherRestrictions {
        sockets: true,
        privileges: false,
        attributes: true,
    };
    assert_eq!(
        status(Ok(ABI::V7), as_root).to_string(),
        "partly enforced: the privileges of root are kept"
    );
}

#[test]
fn a_kernel_without_landlock_enforces_nothing() {
    let others = OtherRestrictions {
        sockets: true,
        privileges: true,
        attributes: true,
    };
    let reason = || Err("no Landlock".to_owned());
    let expected = Status::NotEnforced("no Landlock".to_owned());
    assert_eq!(status(reason(), others), expected);
    assert_eq!(execution_status(reason(), true), expected);
}

#[test]
fn gaps_without_namespaces_are_reported() {
    let check = |abi: ABI, has_namespaces: bool, has_filters: bool, expected: &str| {
        let status = processes_status(Ok(abi), has_namespaces, has_filters);
        assert_eq!(status.to_string(), expected);
    };
    check(ABI::V1, true, false, "enforced");
    check(ABI::V6, false, true, "enforced");
    check(
        ABI::V5,
        false,
        false,
        "partly enforced: they can be signalled (fixed in Linux 6.12); \
         their limits and priorities can be changed",
    );
    let others = OtherRestrictions {
        sockets: true,
        privileges: true,
        attributes: false,
    };
    assert_eq!(
        status(Ok(ABI::V7), others).to_string(),
        "partly enforced: modes, owners and times of any file can be changed"
    );
    assert_eq!(
        execution_status(Ok(ABI::V7), false).to_string(),
        "partly enforced: programs in memory can be started"
    );
}
