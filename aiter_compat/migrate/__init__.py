"""Rewrite a host: AITER's fused MoE and enums to aiter_compat's, or moved paths to those of a range of releases."""
