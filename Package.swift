// swift-tools-version: 6.3
import PackageDescription

/// Sanitizers for `make fuzz`, which builds in its own scratch path; nil in every other build.
let sanitizers = Context.environment["WAYMARK_FUZZING"]
let fuzzing: [String] = sanitizers.map { ["-sanitize=\($0)"] } ?? []

/// Warnings are errors where the Makefile builds. They must not be in the build of an app that uses this package: a
/// newer compiler may have a new warning, and Xcode suppresses the warnings of dependencies, which contradicts the
/// setting.
let isStrict = Context.environment["WAYMARK_STRICT"] != nil

/// Settings of every Swift target: language mode 6, upcoming features enabled.
let common: [SwiftSetting] =
  (fuzzing.isEmpty ? [] : [.unsafeFlags(fuzzing)]) + (isStrict ? [.treatAllWarnings(as: .error)] : []) + [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
  ]

/// A module without I/O. Unsafe code in it needs an explicit `unsafe`.
func pure(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: common + [.strictMemorySafety()])
}

func shell(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []
) -> Target {
  .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: common)
}

/// `group` is the folder below Tests: Unit or Process. Tests are never optimised: their time is spent in the program,
/// and optimising them takes longer than they run.
func tests(_ name: String, _ dependencies: [Target.Dependency], in group: String = "Unit") -> Target {
  .testTarget(
    name: name, dependencies: dependencies, path: "Tests/\(group)/\(name)",
    swiftSettings: common + [.unsafeFlags(["-Onone"], .when(configuration: .release))])
}

// libsodium: the system's on Linux, and on a Mac, also for iOS, the binary of swift-sodium. A build on Linux does not
// load that package.
#if os(macOS)
  // Its last release, 0.9.1, has a libsodium without Ristretto. SwiftPM does not accept a dependency by revision from a
  // package that is itself used by version; see CONTRIBUTING.md, "Apple platforms".
  let sodiumPackages: [Package.Dependency] = [
    .package(
      url: "https://github.com/jedisct1/swift-sodium", revision: "cfd195c76882aa9b997560ca7cb95d72fbf5db00")
  ]
  // Both packages have a module Sodium; only the C module of theirs, Clibsodium, is used.
  let sodium = Target.target(
    name: "CSodium",
    dependencies: [
      .product(name: "Sodium", package: "swift-sodium", moduleAliases: ["Sodium": "SwiftSodium"])
    ], path: "Sources/CSodium/Apple", swiftSettings: common)
#else
  let sodiumPackages: [Package.Dependency] = []
  let sodium = Target.systemLibrary(
    name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])])
#endif

let package = Package(
  name: "waymark",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Waymark", targets: ["Waymark"]),
    .library(name: "WaymarkCare", targets: ["WaymarkCare"]),
    .library(name: "WaymarkControl", targets: ["Control"]),
    .library(name: "WaymarkFiles", targets: ["WaymarkFiles"]),
    .library(name: "WaymarkKinds", targets: ["WaymarkKinds"]),
    .library(name: "WaymarkModels", targets: ["WaymarkModels"]),
    .library(name: "WaymarkPage", targets: ["WaymarkPage"]),
    .library(name: "WaymarkTesting", targets: ["WaymarkTesting"]),
    .executable(name: "waymark", targets: ["WaymarkCommand"]),
    .executable(name: "simulator", targets: ["SimulatorCommand"]),
  ],
  traits: [
    .trait(name: "AllFeatures", description: "Premium is always active, by the development issuer."),
    .trait(name: "MockPurchases", description: "Premium can be bought with a mock purchase."),
    .trait(
      name: "AppStore",
      description: "Purchases in the App Store are verified, on Linux with libcrypto (libssl-dev)."),
    .trait(
      name: "Bonjour",
      description:
        "Devices also find each other by DNS services; on Linux through Avahi (libavahi-compat-libdnssd-dev)."
    ),
  ],
  dependencies: sodiumPackages,
  targets: [
    .systemLibrary(name: "CPlatform"),
    // No pkgConfig: Apple's SDKs have SQLite without a description for pkg-config, and elsewhere it is in /usr too.
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    sodium,
    // No pkgConfig: otherwise builds without the trait would ask for libcrypto too.
    .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
    // No pkgConfig and no link: on Apple platforms it is part of the system.
    .systemLibrary(name: "CServiceDiscovery", providers: [.apt(["libavahi-compat-libdnssd-dev"])]),
    shell("Platform", ["CPlatform"]),
    shell("SQLite", ["CSQLite"]),
    shell("VirtualDisk", ["CSQLite", "SQLite", "Sodium", "Wire"]),
    shell("Sodium", ["CSodium"]),
    pure("Wire", []),
    pure("JSONDocument", ["Wire"]),
    pure("HTTP", ["Wire", "Sodium"]),
    pure("SecureChannel", ["Wire", "Sodium"]),
    shell("X509", [.target(name: "CCrypto", condition: .when(platforms: [.linux], traits: ["AppStore"]))]),
    pure("Purchases", ["Wire", "JSONDocument", "X509"]),
    pure("Membership", ["Wire", "Sodium", "Purchases"]),
    pure("FileFormat", ["Wire", "Sodium"]),
    shell("FileStore", ["Platform", "Wire", "FileFormat"]),
    pure("Replication", ["Wire", "Sodium", "Membership", "FileFormat"]),
    pure("Records", ["Wire", "FileFormat", "JSONDocument", "Reasons", "Replication"]),
    shell("LogStorage", ["Wire", "Membership", "Replication", "SQLite"]),
    shell(
      "RecordTables",
      ["Wire", "FileFormat", "JSONDocument", "Replication", "Records", "SQLite", "LogStorage"]),
    shell(
      "Storage",
      [
        "Platform", "Wire", "FileFormat", "FileStore", "Replication", "Membership", "Records", "SQLite",
        "LogStorage",
        "RecordTables",
      ]),
    shell(
      "Backups",
      [
        "Platform", "Wire", "FileFormat", "FileStore", "Sodium", "Replication", "Records", "SQLite",
        "LogStorage",
        "RecordTables", "Storage",
      ]),
    shell(
      "Verification",
      [
        "Wire", "FileFormat", "FileStore", "Membership", "Replication", "Records", "SQLite", "LogStorage",
        "RecordTables", "Storage",
      ]),
    shell(
      "Engine",
      [
        "Wire", "FileFormat", "FileStore", "Sodium", "Membership", "Replication", "Records", "LogStorage",
        "RecordTables", "Storage",
      ]),
    shell("Transport", ["Platform", "Wire", "SecureChannel"]),
    .target(
      name: "ServiceDiscovery",
      dependencies: ["CServiceDiscovery", "Platform", "Wire", "Membership", "Transport"],
      swiftSettings: common + [.define("Bonjour", .when(platforms: [.macOS, .iOS]))],
      linkerSettings: [.linkedLibrary("dns_sd", .when(platforms: [.linux], traits: ["Bonjour"]))]),
    shell("PageServer", ["Platform", "Wire", "HTTP", "JSONDocument", "Sodium", "Transport"]),
    shell("Exchange", ["Platform", "Wire", "FileFormat", "JSONDocument", "Reasons", "Records", "SQLite"]),
    pure("Reasons", []),
    shell("Console", ["Platform", "JSONDocument", "Reasons"]),
    shell(
      "Home",
      [
        "Platform", "Wire", "JSONDocument", "Purchases", "Reasons", "Sodium", "Membership", "Records",
        "LogStorage",
        "Storage", "Backups", "Verification",
      ]),
    shell(
      "Model",
      [
        "Platform", "Wire", "FileFormat", "FileStore", "JSONDocument", "Sodium", "Replication", "Records",
        "LogStorage",
        "RecordTables", "Storage", "Exchange", "Home", "Reasons",
      ]),
    shell(
      "ChangeHistory",
      [
        "Platform", "Wire", "JSONDocument", "Replication", "Records", "LogStorage", "RecordTables", "Storage",
        "Home",
        "Reasons",
        "Model",
      ]),
    shell(
      "ImportExport",
      [
        "Platform", "Wire", "FileFormat", "FileStore", "Replication", "Records", "Storage", "Exchange",
        "Home", "Reasons",
      ]),
    shell(
      "Enrolment",
      [
        "Platform", "Wire", "Sodium", "SecureChannel", "Purchases", "Membership", "Replication", "Records",
        "LogStorage",
        "RecordTables", "Storage", "Backups", "Engine", "Transport", "Home", "Reasons",
      ]),
    shell(
      "NodeRuntime",
      [
        "Platform", "Wire", "FileFormat", "FileStore", "JSONDocument", "Sodium", "SecureChannel", "Purchases",
        "Membership", "Replication", "Records", "LogStorage", "RecordTables", "Storage", "Backups",
        "Verification", "Engine", "Transport", "ServiceDiscovery", "Home", "Reasons", "Model",
        "ChangeHistory",
        "Enrolment",
      ]),
    shell(
      "NodeOperations",
      [
        "Platform", "Wire", "FileFormat", "FileStore", "Sodium", "Purchases", "Membership", "Replication",
        "Records",
        "LogStorage", "RecordTables", "Storage", "Backups", "Verification", "Engine", "Transport", "Home",
        "Reasons",
        "Model", "ChangeHistory", "ImportExport", "Enrolment",
        "NodeRuntime",
      ]),
    shell(
      "Waymark",
      [
        "Platform", "Sodium", "Wire", "Purchases", "Membership", "Replication", "Records", "Storage",
        "Engine", "Transport", "Reasons", "Home", "Model", "ChangeHistory", "Enrolment", "NodeRuntime",
        "NodeOperations",
      ]),
    shell(
      "WaymarkKinds",
      ["Platform", "Wire", "Records", "Model", "NodeRuntime", "Waymark"]),
    shell(
      "WaymarkCare",
      [
        "Platform", "Wire", "Membership", "Replication", "Records", "Storage", "Backups", "Engine", "Home",
        "Model",
        "ChangeHistory", "Enrolment", "NodeRuntime", "NodeOperations", "Reasons", "Waymark", "WaymarkKinds",
      ]),
    shell(
      "WaymarkFiles",
      [
        "Platform", "Wire", "FileFormat", "FileStore", "Replication", "Records", "Storage", "Engine", "Home",
        "Model",
        "ImportExport", "NodeRuntime", "NodeOperations", "WaymarkKinds",
      ]),
    shell("WaymarkModels", ["ChangeHistory", "Waymark"]),
    shell(
      "WaymarkPage",
      [
        "Platform", "HTTP", "JSONDocument", "Records", "Model", "Waymark", "WaymarkKinds", "WaymarkCare",
        "WaymarkFiles",
      ],
      resources: [
        .embedInCode("Resources/page.html"), .embedInCode("Resources/page.css"),
        .embedInCode("Resources/page.js"),
      ]),
    shell(
      "Control",
      [
        "Platform", "Sodium", "Wire", "JSONDocument", "HTTP", "Membership", "Records", "Transport",
        "PageServer", "Reasons", "Home", "Model", "NodeOperations", "Waymark", "WaymarkKinds", "WaymarkFiles",
        "WaymarkCare", "WaymarkPage",
      ]),
    shell(
      "WaymarkTesting",
      [
        "CSodium", "Platform", "Sodium", "Wire", "JSONDocument", "SecureChannel", "X509", "Purchases",
        "Membership", "Replication",
        "Transport", "Home", "Model", "Enrolment", "NodeRuntime", "Waymark", "WaymarkCare",
      ]),
    shell(
      "Simulation",
      [
        "Wire", "FileFormat", "FileStore", "Sodium", "Membership", "Replication", "Records", "LogStorage",
        "RecordTables", "Storage", "Verification", "Engine", "SQLite", "VirtualDisk",
      ]),
    .executableTarget(
      name: "WaymarkCommand",
      dependencies: [
        "Platform", "SQLite", "JSONDocument", "Records", "Reasons", "Console", "Home", "Model", "Enrolment",
        "Waymark", "WaymarkFiles", "WaymarkCare", "WaymarkPage", "Control",
      ],
      swiftSettings: common),
    .executableTarget(
      name: "SimulatorCommand", dependencies: ["Platform", "JSONDocument", "Simulation"],
      swiftSettings: common),
    .executableTarget(
      name: "Demo", dependencies: ["Wire", "JSONDocument", "Exchange"], path: "examples/demo",
      swiftSettings: common),
    .executableTarget(
      name: "Bench",
      dependencies: [
        "Platform", "Control", "Engine", "FileFormat", "FileStore", "JSONDocument", "Membership", "Processes",
        "RecordTables", "Records", "Replication", "SQLite", "Sodium", "Storage", "Waymark", "WaymarkKinds",
        "WaymarkCare", "WaymarkFiles", "Wire",
      ], path: "Tests/Tools/Bench", swiftSettings: common),
    tests(
      "CircleWorldTests",
      [
        "Engine", "Families", "FileFormat", "FileStore", "LogStorage", "Membership", "RecordTables",
        "Records", "Replication", "SQLite", "Shells", "Sodium", "Storage", "VirtualDisk", "Wire",
      ]),
    tests(
      "CommandTests",
      [
        "Console", "Control", "Exchange", "Home", "JSONDocument", "Model", "NodeOperations", "NodeRuntime",
        "Platform",
        "Processes", "Replication", "Waymark", "WaymarkCare", "WaymarkCommand", "Wire",
      ]),
    tests(
      "EngineTests",
      [
        "Engine", "Families", "FileFormat", "FileStore", "LogStorage", "Membership", "RecordTables",
        "Records", "Replication", "SQLite", "Shells", "Sodium", "Storage", "Vectors", "Wire",
      ]),
    tests(
      "ExchangeTests",
      ["Exchange", "FileFormat", "JSONDocument", "Reasons", "Records", "Replication", "SQLite", "Wire"]),
    .target(
      name: "Families", dependencies: ["Membership", "Records", "Replication", "Sodium", "Wire"],
      path: "Tests/Unit/Families", swiftSettings: common),
    tests("FileStoreTests", ["FileFormat", "FileStore", "Vectors", "Wire"]),
    .target(
      name: "FuzzTargets",
      dependencies: [
        "Backups", "Control", "Exchange", "FileFormat", "HTTP", "JSONDocument", "Membership", "Purchases",
        "RecordTables", "Records", "Replication", "SQLite", "SecureChannel", "Simulation", "Sodium",
        "Storage", "Waymark", "WaymarkKinds", "WaymarkCare", "WaymarkFiles", "WaymarkTesting", "Wire",
      ], path: "Tests/Faults/Fuzz/Targets", swiftSettings: common),
    tests("FuzzTests", ["FuzzTargets"]),
    .target(
      name: "CrashImages",
      dependencies: [
        "Membership", "RecordTables", "Records", "Replication", "SQLite", "Sodium", "Storage", "Verification",
        "VirtualDisk", "Wire",
      ], path: "Tests/Faults/Images/Scenarios", swiftSettings: common),
    .executableTarget(
      name: "Images", dependencies: ["CrashImages"], path: "Tests/Faults/Images/Runner", swiftSettings: common
    ),
    .target(
      name: "Histories",
      dependencies: [
        "Control", "Enrolment", "JSONDocument", "Reasons", "SQLite", "VirtualDisk", "Waymark", "WaymarkKinds",
        "WaymarkCare", "WaymarkFiles", "WaymarkTesting", "Wire",
      ], path: "Tests/Faults/Histories/Model", swiftSettings: common),
    .executableTarget(
      name: "HistoryRunner", dependencies: ["Histories", "JSONDocument"],
      path: "Tests/Faults/Histories/Runner", swiftSettings: common,
      // The libraries that it uses call the functions that it defines in FileCalls.swift.
      linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"], .when(platforms: [.linux]))]),
    tests("HistoriesTests", ["Histories", "JSONDocument", "Processes"]),
    tests("HTTPTests", ["Platform", "HTTP", "PageServer", "Processes", "Transport", "Wire"]),
    tests("JSONDocumentTests", ["JSONDocument", "Wire"]),
    tests("MembershipTests", ["Membership", "Purchases", "Records", "Sodium", "Vectors", "Wire"]),
    tests(
      "ProcessTests",
      [
        "Exchange", "Home", "JSONDocument", "Model", "Platform", "Processes", "Purchases", "Records",
        "Sodium", "Waymark", "WaymarkCare", "WaymarkCommand", "WaymarkTesting", "Wire",
      ], in: "Process"),
    tests(
      "PageTests",
      [
        "Control", "HTTP", "JSONDocument", "Model", "Sodium", "Waymark", "WaymarkCare", "WaymarkFiles",
        "WaymarkPage", "WaymarkTesting",
      ]),
    .target(
      name: "Processes", dependencies: ["Platform"], path: "Tests/Process/Processes", swiftSettings: common),
    tests(
      "RecordsTests", ["FileFormat", "JSONDocument", "Reasons", "Records", "Replication", "Vectors", "Wire"]),
    tests(
      "ReplicationTests",
      [
        "FileFormat", "LogStorage", "Membership", "RecordTables", "Records", "Replication", "SQLite",
        "Sodium", "Storage", "Vectors", "Wire",
      ]),
    tests("PlatformTests", ["Platform"]),
    .target(name: "CSQLiteSetup", path: "Tests/Unit/CSQLiteSetup"),
    tests("SQLiteTests", ["CSQLiteSetup", "SQLite"]),
    tests("SecureChannelTests", ["SecureChannel", "Sodium", "Vectors", "Wire"]),
    tests(
      "SessionTests",
      [
        "Families", "FileFormat", "LogStorage", "Membership", "RecordTables", "Records", "Replication",
        "SQLite", "Sodium", "Storage", "Vectors", "Wire",
      ]),
    .target(
      name: "Shells",
      dependencies: ["Engine", "FileFormat", "FileStore", "RecordTables", "Replication", "Storage", "Wire"],
      path: "Tests/Unit/Shells", swiftSettings: common),
    tests(
      "SimulationTests",
      [
        "CrashImages", "FileFormat", "Membership", "RecordTables", "Records", "Replication", "SQLite",
        "Simulation", "Sodium", "Storage", "Vectors", "Verification", "VirtualDisk", "Wire",
      ]),
    tests("SodiumTests", ["Sodium"]),
    tests(
      "StorageTests",
      [
        "Platform", "Backups", "FileFormat", "FileStore", "LogStorage", "Membership", "RecordTables",
        "Records",
        "Replication", "SQLite", "Sodium", "Storage", "Vectors", "Verification", "Wire",
      ]),
    tests(
      "TidyTests",
      ["Membership", "Model", "Processes", "Records", "Replication", "SecureChannel", "Wire"]),
    tests("TransportTests", ["Platform", "SecureChannel", "Sodium", "Transport", "Wire"]),
    .target(name: "Vectors", dependencies: ["Wire"], path: "Tests/Unit/Vectors", swiftSettings: common),
    tests(
      "WaymarkTests",
      [
        "Backups", "ChangeHistory", "Control", "Engine", "Enrolment", "Exchange", "FileFormat", "FileStore",
        "Home",
        "JSONDocument", "LogStorage", "Membership", "Model", "NodeOperations", "NodeRuntime", "PageServer",
        "Platform", "Purchases", "Reasons", "RecordTables", "Records", "Replication", "SQLite",
        "SecureChannel",
        "Sodium", "Storage", "Transport", "Vectors", "Waymark", "WaymarkCare", "WaymarkFiles", "WaymarkKinds",
        "WaymarkModels", "WaymarkTesting", "Wire",
      ]),
    tests("WireTests", ["Vectors", "Wire"]),
  ]
)

// Without libFuzzer's driver this would not link, so it is there only for `make fuzz`.
if !fuzzing.isEmpty {
  package.targets.append(
    .executableTarget(
      name: "Fuzz", dependencies: ["FuzzTargets"], path: "Tests/Faults/Fuzz/Runner", swiftSettings: common,
      linkerSettings: [.unsafeFlags(fuzzing + ["-use-ld=lld"])]))
}
