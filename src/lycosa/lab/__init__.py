"""The lab: strategies side by side on one fixed world, with measures, statistics, costs and figures."""
