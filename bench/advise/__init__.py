"""What the advisor predicts of tables shaped as TPC-H's and TPC-DS', beside what is measured."""
