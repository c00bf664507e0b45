use super::HostProblem::{
    Character, Empty, Ipv4, Ipv6, LabelEdge, LabelLength, LongName, MissingPort, Port, Range,
    Several, Star, Url, UserInformation,
};
use super::{ConnectRule, HostProblem, Target};

/// What is accepted as a request's target, and how it is written afterwards.
const GOOD_TARGETS: [(&str, &str); 32] = [
    ("example.com:443", "example.com:443"),
    ("Example.COM:443", "example.com:443"),
    ("example.com.:443", "example.com:443"),
    ("EXAMPLE.com.:1", "example.com:1"),
    ("localhost:65535", "localhost:65535"),
    ("a:1", "a:1"),
    ("a.b.c.d.e:80", "a.b.c.d.e:80"),
    ("xn--bcher-kva.example:443", "xn--bcher-kva.example:443"),
    ("r3---sn.example.com:443", "r3---sn.example.com:443"),
    ("my_bucket.example.com:443", "my_bucket.example.com:443"),
    ("1and1.com:443", "1and1.com:443"),
    ("1.2.3.4.example:443", "1.2.3.4.example:443"),
    ("123.com:443", "123.com:443"),
    ("0x7f.com:443", "0x7f.com:443"),
    ("example.0xyz:443", "example.0xyz:443"),
    ("example.1a:443", "example.1a:443"),
    ("127.0.0.1:8080", "127.0.0.1:8080"),
    ("0.0.0.0:80", "0.0.0.0:80"),
    ("255.255.255.255:80", "255.255.255.255:80"),
    ("10.0.0.1:443", "10.0.0.1:443"),
    ("[::1]:80", "[::1]:80"),
    ("[::]:80", "[::]:80"),
    ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
    ("[2001:db8:0:0:0:0:0:1]:443", "[2001:db8::1]:443"),
    ("[2001:0db8::0001]:443", "[2001:db8::1]:443"),
    ("[fe80::1]:22", "[fe80::1]:22"),
    ("[::ffff:127.0.0.1]:80", "127.0.0.1:80"),
    ("[::ffff:7f00:1]:80", "127.0.0.1:80"),
    ("[0:0:0:0:0:ffff:10.0.0.1]:80", "10.0.0.1:80"),
    ("[64:ff9b::10.0.0.1]:80", "[64:ff9b::a00:1]:80"),
    ("[::127.0.0.1]:80", "[::7f00:1]:80"),
    ("[1:2:3:4:5:6:7:8]:80", "[1:2:3:4:5:6:7:8]:80"),
];

const BAD_TARGETS: [(&str, HostProblem); 100] = [
    ("", Empty),
    (":443", Empty),
    (".:443", Empty),
    ("..:443", LabelLength),
    ("example.com", MissingPort),
    ("example.com:", Port),
    ("example.com:0", Port),
    ("example.com:65536", Port),
    ("example.com:99999999999999999999", Port),
    ("example.com:+443", Port),
    ("example.com:-1", Port),
    ("example.com:0443", Port),
    ("example.com: 443", Port),
    ("example.com:443 ", Port),
    ("example.com:443\r\n", Port),
    ("example.com:443\0", Port),
    ("example.com:443#", Port),
    ("example.com:443?", Port),
    ("example.com:https", Port),
    ("example.com:0x1bb", Port),
    ("example.com:٤٤٣", Port),
    ("example.com:*", Port),
    ("allowed.com:443:80", Port),
    ("allowed.com:80:evil.com:443", Port),
    ("allowed.com@evil.com:443", UserInformation),
    ("user:password@evil.com:443", UserInformation),
    ("allowed.com:443@evil.com:443", UserInformation),
    ("@evil.com:443", UserInformation),
    ("evil.com@:443", UserInformation),
    ("allowed.com%40evil.com:443", Character),
    ("allowed.com%00.evil.com:443", Character),
    ("allowed.com%2eevil.com:443", Character),
    ("allowed.com\0.evil.com:443", Character),
    ("allowed.com\0:443", Character),
    ("\0allowed.com:443", Character),
    ("allowed.com\\.evil.com:443", Character),
    ("evil.com\\allowed.com:443", Character),
    ("allowed.com\t:443", Character),
    ("\tallowed.com:443", Character),
    (" allowed.com:443", Character),
    ("allowed.com :443", Character),
    ("allowed .com:443", Character),
    ("allowed.com\n:443", Character),
    ("allowed.com\r\nHost: evil.com:443", Port),
    ("allowed.com\r.evil.com:443", Character),
    ("allowed.com\u{7f}:443", Character),
    ("allowed.com\u{1}:443", Character),
    ("allowed.com,evil.com:443", Character),
    ("allowed.com;evil.com:443", Character),
    ("allowed.com&evil.com:443", Character),
    ("allowed.com#evil.com:443", Character),
    ("evil.com#.allowed.com:443", Character),
    ("evil.com?.allowed.com:443", Character),
    ("$(id).allowed.com:443", Character),
    ("'allowed.com':443", Character),
    ("\"allowed.com\":443", Character),
    ("allowed.com!:443", Character),
    ("*:443", Character),
    ("*.allowed.com:443", Character),
    ("b\u{fc}cher.example:443", Character),
    ("allowed\u{3002}com:443", Character),
    ("\u{ff41}llowed.com:443", Character),
    ("allowed.com\u{200b}:443", Character),
    ("\u{202e}moc.dewolla:443", Character),
    ("\u{2488}\u{2488}\u{2488}1:443", Character),
    ("http://allowed.com:443", Url),
    ("allowed.com/:443", Url),
    ("allowed.com:443/evil", Url),
    ("//allowed.com:443", Url),
    ("allowed..com:443", LabelLength),
    (".allowed.com:443", LabelLength),
    ("allowed.com..:443", LabelLength),
    ("-allowed.com:443", LabelEdge),
    ("allowed-.com:443", LabelEdge),
    ("allowed.-com:443", LabelEdge),
    ("_allowed.com:443", LabelEdge),
    ("allowed_.com:443", LabelEdge),
    ("2130706433:80", Ipv4),
    ("0x7f000001:80", Ipv4),
    ("0x7F000001:80", Ipv4),
    ("0x:80", Ipv4),
    ("017700000001:80", Ipv4),
    ("127.1:80", Ipv4),
    ("127.0.1:80", Ipv4),
    ("127.0.0.1.:80", Ipv4),
    ("127.0.0.0x1:80", Ipv4),
    ("0177.0.0.1:80", Ipv4),
    ("127.0.0.01:80", Ipv4),
    ("127.0.0.256:80", Ipv4),
    ("127.0.0.1.1:80", Ipv4),
    ("0:80", Ipv4),
    ("allowed.com.1:80", Ipv4),
    ("allowed.0x1f:80", Ipv4),
    ("::1", Ipv6),
    ("::1:80", Ipv6),
    ("[::1:80", Ipv6),
    ("[::1]80", Ipv6),
    ("[fe80::1%eth0]:80", Ipv6),
    ("[127.0.0.1]:80", Ipv6),
    ("[allowed.com]:80", Ipv6),
];

#[test]
fn targets_have_one_form() {
    for (text, expected) in GOOD_TARGETS {
        let target = Target::parse(text, None).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(target.to_string(), expected, "{text:?}");
        let again = Target::parse(expected, None).unwrap();
        assert_eq!(again, target, "{text:?}");
        assert!(target.rule().allows(&target), "{text:?}");
        assert_eq!(target.rule().to_string(), expected);
    }
}

#[test]
fn other_texts_are_refused_as_targets_and_as_rules() {
    let more = [
        ("[::1%25eth0]:80", Ipv6),
        ("[]:80", Ipv6),
        ("[[::1]]:80", Ipv6),
        ("[::1]]:80", Ipv6),
        ("[::1]:", Port),
        ("[::1]:80:80", Port),
        ("[:::1]:80", Ipv6),
        ("[1:2:3:4:5:6:7:8:9]:80", Ipv6),
        ("[::ffff:127.1]:80", Ipv6),
        ("[::ffff:0177.0.0.1]:80", Ipv6),
        ("[::1 ]:80", Ipv6),
        ("fe80::1%eth0", Ipv6),
    ];
    for (text, expected) in BAD_TARGETS.into_iter().chain(more) {
        let error = Target::parse(text, None).unwrap_err();
        assert_eq!(error.problem, expected, "{text:?}");
        // What is not a target is not a rule either, except for what only rules can say.
        let only_rules = ["example.com", "example.com:*", "*.allowed.com:443"];
        if !only_rules.contains(&text) {
            assert!(text.parse::<ConnectRule>().is_err(), "{text:?}");
        }
    }
}

#[test]
fn lengths_are_limited() {
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    assert_eq!(longest.len(), 253);
    Target::parse(&longest, Some(80)).unwrap();
    Target::parse(&format!("{longest}."), Some(80)).unwrap();
    let problem = |text: &str| Target::parse(text, Some(80)).unwrap_err().problem;
    assert_eq!(problem(&format!("{longest}a")), LongName);
    assert_eq!(problem(&format!("{label}a.com")), LabelLength);
    assert_eq!(problem(&"a.".repeat(50_000)), LongName);
    assert_eq!(problem(&"9".repeat(100_000)), LongName);
}

#[test]
fn errors_say_what_to_write_and_stay_short() {
    let error = "allowed.com@evil.com".parse::<ConnectRule>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"allowed.com@evil.com\" is not a host: user names and passwords cannot be in it; \
         write host:port, for instance github.com:443"
    );
    let error = format!("\u{1b}[31m{}", "x".repeat(100_000)).parse::<ConnectRule>();
    let error = error.unwrap_err().to_string();
    assert!(error.len() < 300, "{}", error.len());
    assert!(!error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn ranges_and_lists_are_not_taken_for_urls_and_names() {
    for (text, expected) in [
        ("10.0.0.0/8", Range),
        ("10.0.0.0/255.0.0.0", Range),
        ("10.0.0.0/8:443", Range),
        ("fd00::/8", Range),
        ("[fd00::]/8", Range),
        ("10.0.0.1/index.html", Url),
        ("example.com/8", Url),
        ("http://10.0.0.1/8", Url),
        ("a.com,b.com", Several),
        ("a.com:443,b.com:443", Several),
        ("a.com, b.com", Several),
        ("10.0.0.0/8,a.com", Several),
    ] {
        let error = text.parse::<ConnectRule>().unwrap_err();
        assert_eq!(error.problem, expected, "{text:?}");
    }
    let error = "10.0.0.0/8".parse::<ConnectRule>().unwrap_err().to_string();
    assert!(error.contains("name each address"), "{error}");
    let error = "a,b".parse::<ConnectRule>().unwrap_err().to_string();
    assert!(error.contains("repeat the option"), "{error}");
}

#[test]
fn rules_are_read_and_written() {
    let good = [
        ("*", "*"),
        ("Example.com", "example.com"),
        ("example.com.", "example.com"),
        ("example.com:22", "example.com:22"),
        ("example.com:*", "example.com:*"),
        ("*.Example.com", "*.example.com"),
        ("*.example.com:8443", "*.example.com:8443"),
        ("*.a.b.example.com:*", "*.a.b.example.com:*"),
        ("*.co.uk", "*.co.uk"),
        ("127.0.0.1:5432", "127.0.0.1:5432"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[::1]:*", "[::1]:*"),
        ("[::ffff:10.0.0.1]:*", "10.0.0.1:*"),
        ("localhost:3000", "localhost:3000"),
    ];
    for (text, expected) in good {
        let rule: ConnectRule = text
            .parse()
            .unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(rule.to_string(), expected);
        assert_eq!(expected.parse(), Ok(rule));
    }
    let bad = [
        ("", Empty),
        ("**", Star),
        ("*:443", Star),
        ("*:*", Star),
        ("*.", Empty),
        ("*.com", Star),
        ("*.com.", Star),
        ("*.localhost:80", Star),
        ("*.*.com", Character),
        ("*example.com", Star),
        ("www.*.com", Star),
        ("example.*", Star),
        ("*.127.0.0.1", Star),
        ("*.0.0.1", Ipv4),
        ("*.[::1]", Port),
        ("*. example.com", Character),
        ("example.com:**", Port),
        ("example.com:80,443", Several),
        ("example.com:80-443", Port),
        ("https://example.com", Url),
        ("::1", Ipv6),
        ("10.0.0.0/8", Range),
    ];
    for (text, expected) in bad {
        let error = text.parse::<ConnectRule>().unwrap_err();
        assert_eq!(error.problem, expected, "{text:?}");
    }
}

#[test]
fn rules_allow_what_they_name() {
    let cases = [
        ("*", "anything.example:1", true),
        ("*", "127.0.0.1:1", true),
        ("example.com", "example.com:80", true),
        ("example.com", "example.com:443", true),
        ("example.com", "EXAMPLE.com.:443", true),
        ("example.com", "example.com:22", false),
        ("example.com", "www.example.com:443", false),
        ("example.com", "notexample.com:443", false),
        ("example.com", "example.com.evil.com:443", false),
        ("example.com:22", "example.com:22", true),
        ("example.com:22", "example.com:443", false),
        ("example.com:*", "example.com:1", true),
        ("example.com:*", "www.example.com:1", false),
        ("*.example.com", "www.example.com:443", true),
        ("*.example.com", "a.b.c.example.com:80", true),
        ("*.example.com", "example.com:443", false),
        ("*.example.com", "notexample.com:443", false),
        ("*.example.com", "www.example.com:22", false),
        ("*.example.com:22", "www.example.com:22", true),
        ("*.example.com:*", "www.example.com:9", true),
        ("*.example.com", "www.example.com.evil.com:443", false),
        ("127.0.0.1:80", "127.0.0.1:80", true),
        ("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true),
        ("[::ffff:7f00:1]:80", "127.0.0.1:80", true),
        ("127.0.0.1:80", "localhost:80", false),
        ("localhost:80", "127.0.0.1:80", false),
        ("[::1]:80", "[0:0:0:0:0:0:0:1]:80", true),
        ("[::1]:80", "[::2]:80", false),
    ];
    for (rule, target, expected) in cases {
        let allows = rule
            .parse::<ConnectRule>()
            .unwrap()
            .allows(&Target::parse(target, None).unwrap());
        assert_eq!(allows, expected, "{rule} and {target}");
    }
}
