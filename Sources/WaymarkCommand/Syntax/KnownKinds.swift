import Records

extension Schema {
  /// The kinds of records that this run of the program knows: those of the home that it works on.
  @TaskLocal static var known = Schema.builtIn
}
