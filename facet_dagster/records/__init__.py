"""The data that stations hand to one another: frozen pydantic models, versioned, unknown keys forbidden.

Import concrete submodules directly; this package stays free of import-time wiring.
"""
