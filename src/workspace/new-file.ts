/** Mode bits of a file that an edit makes and whose mode nothing says. */
export const NEW_FILE_MODE = 0o644;
