// swift-tools-version: 6.3
import PackageDescription

// These three programs stand in for an app: they use only the library, as its documentation describes. The trait lets
// them buy premium without a shop. New projects in Xcode have the setting MemberImportVisibility; the products have to
// work with it.
let settings: [SwiftSetting] = [.enableUpcomingFeature("MemberImportVisibility")]

let package = Package(
  name: "embed",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "waymark", path: "../..", traits: ["MockPurchases"])],
  targets: [
    .executableTarget(
      name: "Life",
      dependencies: [
        .product(name: "WaymarkKinds", package: "waymark"),
        .product(name: "WaymarkFiles", package: "waymark"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "Views",
      dependencies: [
        .product(name: "WaymarkKinds", package: "waymark"),
        .product(name: "WaymarkModels", package: "waymark"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "Packing", dependencies: [.product(name: "WaymarkKinds", package: "waymark")],
      swiftSettings: settings),
  ]
)
