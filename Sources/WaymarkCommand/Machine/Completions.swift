import Records
import Waymark

/// Scripts that complete command lines of `waymark`, made from the table of commands: what help says can be typed.
///
/// All three go along the words in the same way: options and their values are left out, and the longest beginning of the
/// others that begins a command is where completion goes on.
struct Completions {
  static let shells = ["bash", "fish", "zsh"]

  private let table: [CommandSpec]
  /// Every beginning of a command, the empty one among them, with what may follow.
  let places: [Position]

  /// Where somebody is on the way to a command, or in one.
  struct Position {
    let words: [String]
    /// The next words of commands that begin so, with what each is for.
    var next: [(word: String, summary: String)] = []
    /// The command that ends here.
    var spec: CommandSpec?

    var name: String { words.joined(separator: " ") }
  }

  /// What can be given for a value.
  enum Choice: Equatable {
    case words([String])
    case file
    case anything

    init(_ type: CommandSpec.ValueType, _ placeholder: String) {
      switch type {
      case .words(let words): self = .words(words)
      case .path: self = .file
      default: self = placeholder == "KIND" ? .words(Registry.listed.map(\.name)) : .anything
      }
    }
  }

  init(table: [CommandSpec] = CommandTable.all) {
    self.table = table
    var places: [Position] = [Position(words: [])]
    for spec in table {
      for count in 0...spec.words.count {
        let words = Array(spec.words.prefix(count))
        var index = places.firstIndex { $0.words == words }
        if index == nil {
          places.append(Position(words: words))
          index = places.count - 1
        }
        guard let index else { continue }
        if count == spec.words.count {
          places[index].spec = spec
        } else if !places[index].next.contains(where: { $0.word == spec.words[count] }) {
          let isLast = count + 1 == spec.words.count
          places[index].next.append(
            (spec.words[count], isLast ? spec.summary : Self.group(spec.words, count)))
        }
        // `waymark peers --json` is `waymark peers list --json`.
        if spec.impliesLastWord, count == spec.words.count - 1 { places[index].spec = spec }
      }
    }
    self.places = places
  }

  private static func group(_ words: [String], _ count: Int) -> String {
    let following = CommandTable.all.filter { $0.words.starts(with: words.prefix(count + 1)) }
      .compactMap { $0.words.dropFirst(count + 1).first }
    var seen: [String] = []
    for word in following where !seen.contains(word) { seen.append(word) }
    return seen.joined(separator: ", ")
  }

  func script(for shell: String) -> String {
    switch shell {
    case "bash": bash
    case "zsh": zsh
    default: fish
    }
  }

  /// All that takes a value, wherever it stands: the parser has it that an option takes one in every command or in none.
  private var optionsWithValue: [String] {
    let all = (GlobalOptions.specs + table.flatMap(\.options)).filter { $0.placeholder != nil }.map(\.flag)
    return Set(all).sorted()
  }

  func options(_ place: Position) -> [CommandSpec.Option] { (place.spec?.options ?? []) + GlobalOptions.specs }

  /// What can stand where a word is typed that is no option.
  func operands(_ place: Position) -> Choice {
    guard let operand = place.spec?.operands.first(where: { Choice($0.type, $0.placeholder) != .anything })
    else {
      return place.words == ["help"] ? .words(Self.topics) : .anything
    }
    return Choice(operand.type, operand.placeholder)
  }

  private static var topics: [String] {
    var words = HelpTopic.all.map(\.name)
    for spec in CommandTable.all where !words.contains(spec.words[0]) { words.append(spec.words[0]) }
    return words
  }

  private static let head =
    "Made by `waymark completions` from the commands of waymark \(WaymarkVersion.text)."

  // MARK: bash

  /// For bash 3.2 and later, with or without bash-completion.
  private var bash: String {
    let named = places.filter { !$0.words.isEmpty }.map { "\"\($0.name)\"" }.joined(separator: "|")
    let values = optionsWithValue.joined(separator: "|")
    let words = places.map { place in
      "    \"\(place.name)\") words=\"\(place.next.map(\.word).joined(separator: " "))\" "
        + "options=\"\(options(place).map(\.flag).joined(separator: " "))\""
        + Self.bash(operands(place)) + " ;;"
    }
    let choices = optionChoices.map { flag, places, choice in
      let pattern = places.map { "\"\($0) \(flag)\"" }.joined(separator: "|")
      return "    \(pattern))\(Self.bash(choice)) ;;"
    }
    return """
      # bash completion for waymark. \(Self.head)
      _waymark() {
        local current="${COMP_WORDS[COMP_CWORD]}" previous="" place="" word words options choice="" skip=0 i
        for ((i = 1; i < COMP_CWORD; i++)); do
          word="${COMP_WORDS[i]}"
          # `--flag=value` comes as three words.
          if [[ $word == "=" ]]; then skip=1; continue; fi
          if ((skip)); then skip=0; previous=""; continue; fi
          previous="$word"
          case "$word" in
            \(values)) skip=1; continue ;;
            -*) continue ;;
          esac
          case "${place:+$place }$word" in
            \(named)) place="${place:+$place }$word" ;;
            *) words=none ;;
          esac
        done
        local isOperand="$words"
        case "$place" in
      \(words.joined(separator: "\n"))
        esac
        [[ $current == "=" ]] && current=""
        if ((skip)); then
          words="" options="" choice=anything
          case "$place $previous" in
      \(choices.joined(separator: "\n"))
          esac
        elif [[ $current == -* ]]; then
          words="" choice="$options"
        elif [[ -n $words && -z $isOperand ]]; then
          choice="$words"
        fi
        COMPREPLY=()
        case "$choice" in
          file)
            local IFS=$'\\n'
            COMPREPLY=($(compgen -f -- "$current"))
            type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
            ;;
          anything) ;;
          *) COMPREPLY=($(compgen -W "$choice" -- "$current")) ;;
        esac
        return 0
      }
      complete -F _waymark waymark

      """
  }

  private static func bash(_ choice: Choice) -> String {
    switch choice {
    case .words(let words): " choice=\"\(words.joined(separator: " "))\""
    case .file: " choice=file"
    case .anything: " choice=anything"
    }
  }

  /// For each option with a value: the places where it means the same, and what can be given.
  private var optionChoices: [(flag: String, places: [String], choice: Choice)] {
    var found: [(flag: String, places: [String], choice: Choice)] = []
    for place in places {
      for option in options(place) {
        guard let placeholder = option.placeholder else { continue }
        let choice = Choice(option.type, placeholder)
        guard choice != .anything else { continue }
        if let index = found.firstIndex(where: { $0.flag == option.flag && $0.choice == choice }) {
          found[index].places.append(place.name)
        } else {
          found.append((option.flag, [place.name], choice))
        }
      }
    }
    return found
  }

  // MARK: zsh

  private var zsh: String {
    let named = places.filter { !$0.words.isEmpty }.map { Self.quoted($0.name) }.joined(separator: "|")
    let cases = places.map { place in
      let words = place.next.map { Self.quoted("\($0.word.replacing(":", with: "\\:")):\($0.summary)") }
      let options = options(place).map { option in
        Self.quoted("\(option.flag):\(option.summary)")
      }
      return """
            \(Self.quoted(place.name)))
              words_here=(\(words.joined(separator: " ")))
              options_here=(\(options.joined(separator: " ")))
              choice=(\(Self.zsh(operands(place)))) ;;
        """
    }
    let choices = optionChoices.map { flag, places, choice in
      let pattern = places.map { Self.quoted("\($0) \(flag)") }.joined(separator: "|")
      return "      \(pattern)) choice=(\(Self.zsh(choice))) ;;"
    }
    return """
      #compdef waymark
      # \(Self.head)
      _waymark() {
        local place="" word previous="" skip=0 operand=0 i
        local -a words_here options_here choice
        for ((i = 2; i < CURRENT; i++)); do
          word="${words[i]}"
          if ((skip)); then skip=0; continue; fi
          case "$word" in
            (\(optionsWithValue.joined(separator: "|"))) skip=1; previous="$word"; continue ;;
            (-*) continue ;;
          esac
          case "${place:+$place }$word" in
            (\(named)) place="${place:+$place }$word" ;;
            (*) operand=1 ;;
          esac
        done
        case "$place" in
      \(cases.joined(separator: "\n"))
        esac
        local current="${words[CURRENT]}"
        if [[ "$current" == --*=* ]]; then
          previous="${current%%=*}" skip=1
          compset -P '*='
        fi
        if ((skip)); then
          choice=() words_here=()
          case "$place $previous" in
      \(choices.joined(separator: "\n"))
          esac
        elif [[ "$current" == -* ]]; then
          _describe -o option options_here
          return
        elif ((${#words_here} && !operand)); then
          _describe command words_here
          return
        fi
        if [[ "$choice" == file ]]; then
          _files
        elif ((${#choice})); then
          compadd -- $choice
        fi
      }
      if [[ "${funcstack[1]}" == _waymark ]]; then
        _waymark "$@"
      else
        compdef _waymark waymark
      fi

      """
  }

  private static func zsh(_ choice: Choice) -> String {
    switch choice {
    case .words(let words): words.map(quoted).joined(separator: " ")
    case .file: "file"
    case .anything: ""
    }
  }

  /// In single quotes, for bash, zsh and the names of fish.
  private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

  // MARK: fish

  private var fish: String {
    var lines: [String] = []
    for place in places {
      let here = "-n \(Self.fishQuoted("__waymark_at \(Self.fishQuoted(place.name))"))"
      let start = "-n \(Self.fishQuoted("__waymark_at \(Self.fishQuoted(place.name)) words"))"
      for (word, summary) in place.next {
        lines.append("complete -c waymark -f \(start) -a \(word) -d \(Self.fishQuoted(summary))")
      }
      switch operands(place) {
      case .words(let words):
        lines.append("complete -c waymark -f \(here) -a \(Self.fishQuoted(words.joined(separator: " ")))")
      case .file: lines.append("complete -c waymark -F \(here)")
      case .anything: break
      }
      for option in place.spec?.options ?? [] { lines.append(Self.fish(option, here)) }
    }
    lines += GlobalOptions.specs.map { Self.fish($0, "") }
    let named = places.filter { !$0.words.isEmpty }.map { Self.fishQuoted(" " + $0.name) }.joined(
      separator: " ")
    return """
      # fish completion for waymark. \(Self.head)
      # Prints the words of the command that is typed, and behind them, if one is there, an operand.
      function __waymark_place
          set -l place
          set -l skip 0
          set -l operand
          for word in (commandline -opc)[2..-1]
              if test $skip = 1
                  set skip 0
                  continue
              end
              if contains -- $word \(optionsWithValue.joined(separator: " "))
                  set skip 1
                  continue
              end
              string match -q -- '-*' $word; and continue
              if contains -- "$place $word" \(named)
                  set place "$place $word"
              else
                  set operand operand
              end
          end
          echo (string trim -- "$place")
          echo $operand
      end
      # Whether a command is typed so far; with `words` also that no operand is.
      function __waymark_at
          set -l found (__waymark_place)
          test "$found[1]" = "$argv[1]"; or return 1
          test "$argv[2]" != words; or test -z "$found[2]"
      end
      complete -c waymark -f
      \(lines.joined(separator: "\n"))

      """
  }

  private static func fish(_ option: CommandSpec.Option, _ here: String) -> String {
    var line = "complete -c waymark"
    if !here.isEmpty { line += " " + here }
    line += " -l \(option.flag.drop { $0 == "-" }) -d \(fishQuoted(option.summary))"
    guard let placeholder = option.placeholder else { return line + " -f" }
    switch Choice(option.type, placeholder) {
    case .words(let words): return line + " -x -a \(fishQuoted(words.joined(separator: " ")))"
    case .file: return line + " -r -F"
    case .anything: return line + " -x"
    }
  }

  private static func fishQuoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
