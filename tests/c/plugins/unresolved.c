/* Calls a function that nobody has. */
int nobody_has_this(void);
int unresolved(void);
int unresolved(void) { return nobody_has_this(); }
