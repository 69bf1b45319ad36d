"""``python -m arr_sql`` is ``arr``."""

from arr_sql.cli import main

if __name__ == "__main__":
    main()
