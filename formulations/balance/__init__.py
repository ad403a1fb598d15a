"""The BALANCE problem: schedule users between autoregressive and speculative decoding."""
