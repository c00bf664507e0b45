use super::{PriceTier, Prices, Rates, Usage};

fn rates(factor: f64) -> Rates {
    Rates {
        input: factor,
        output: 10.0 * factor,
        cache_read: 0.1 * factor,
        cache_write: 2.0 * factor,
    }
}

fn tiered() -> Prices {
    Prices {
        base: rates(1.0),
        tiers: vec![
            PriceTier {
                above: 100_000,
                rates: rates(2.0),
            },
            PriceTier {
                above: 272_000,
                rates: rates(4.0),
            },
        ],
    }
}

#[test]
fn the_prompt_decides_the_tier_and_the_limit_itself_is_below() {
    let prices = tiered();
    for (prompt_tokens, factor) in [
        (0, 1.0),
        (100_000, 1.0),
        (100_001, 2.0),
        (272_000, 2.0),
        (272_001, 4.0),
        (u64::MAX, 4.0),
    ] {
        assert_eq!(
            *prices.rates(prompt_tokens),
            rates(factor),
            "{prompt_tokens}"
        );
    }
}

#[test]
fn cached_tokens_count_towards_the_tier_and_output_does_not() {
    let base = Usage {
        input: 10,
        output: 1_000_000,
        cache_read: 50_000,
        cache_write: 49_990,
        cost_usd: 0.0,
    };
    let cost = |usage: Usage| usage.priced(&tiered()).cost_usd;
    let expected = |usage: Usage, factor: f64| {
        let rates = rates(factor);
        (usage.input as f64 * rates.input
            + usage.output as f64 * rates.output
            + usage.cache_read as f64 * rates.cache_read
            + usage.cache_write as f64 * rates.cache_write)
            / 1e6
    };
    assert!((cost(base) - expected(base, 1.0)).abs() < 1e-9);
    for longer in [
        Usage { input: 11, ..base },
        Usage {
            cache_read: 50_001,
            ..base
        },
        Usage {
            cache_write: 49_991,
            ..base
        },
    ] {
        assert!((cost(longer) - expected(longer, 2.0)).abs() < 1e-9);
    }
}
