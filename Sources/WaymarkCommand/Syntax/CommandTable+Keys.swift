extension CommandTable {
  /// Commands about the keys themselves.
  static let keys: [CommandSpec] = [
    CommandSpec(
      words: ["keys", "passphrase", "set"], summary: "seal the keys of this device with a passphrase",
      options: [
        .init(
          flag: "--file", placeholder: "F",
          summary: "the new passphrase is its first line; - for standard input", type: .path),
        .init(
          flag: "--key", placeholder: "FILE", summary: "this key file instead of those of this device",
          type: .path),
      ],
      details: """
        Seals the device's key, and the root key if it is here. The passphrase is typed twice, or it
        is the first line of --file or of the file that WAYMARK_PASSPHRASE_FILE names. That of keys
        which are sealed already is asked for. A running node goes on; its next start asks
        (waymark help keys). A forgotten passphrase can't be recovered.
        """),
    CommandSpec(
      words: ["keys", "passphrase", "remove"], summary: "keep the keys without a passphrase again",
      options: [
        .init(
          flag: "--file", placeholder: "F", summary: "the passphrase is its first line; - for standard input",
          type: .path),
        .init(
          flag: "--key", placeholder: "FILE", summary: "this key file instead of those of this device",
          type: .path),
      ]),
  ]
}
