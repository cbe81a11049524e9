/// Commands that make a node at home on a machine.
extension CommandTable {
  static let machine: [CommandSpec] = [
    CommandSpec(
      words: ["service", "install"], summary: "have the system run this node, from now on and at every login",
      options: [
        .init(
          flag: "--print", placeholder: "systemd|launchd",
          summary: "print what would be written, write nothing",
          type: .words(Service.Manager.allCases.map(\.rawValue)))
      ],
      details: """
        Writes a unit for systemd, or a property list for launchd on a Mac, for this user and this home, and
        starts it. Again after an update or a move of the program. More: waymark help service
        """),
    CommandSpec(
      words: ["service", "uninstall"], summary: "end the service, and have it start no more",
      details: "The store and the keys stay as they are."),
    CommandSpec(
      words: ["service", "status"], summary: "say whether the system runs this node", impliesLastWord: true),
    CommandSpec(
      words: ["completions"], summary: "print what a shell needs to complete commands of waymark",
      operands: [.init(placeholder: "SHELL", key: "shell", type: .words(Completions.shells))],
      details: """
        SHELL is bash, zsh or fish. `make install` puts them where the shells look. By hand:
          waymark completions bash > ~/.local/share/bash-completion/completions/waymark
          waymark completions zsh > DIR/_waymark, with DIR one of $fpath
          waymark completions fish > ~/.config/fish/completions/waymark.fish
        """),
    CommandSpec(
      words: ["manual"], summary: "print the manual page, for man -l -"),
  ]
}
