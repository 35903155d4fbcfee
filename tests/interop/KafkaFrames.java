import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AddRaftVoterRequestData;
import org.apache.kafka.common.message.AddRaftVoterResponseData;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.message.UnregisterControllerRequestData;
import org.apache.kafka.common.message.UnregisterControllerResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestUtils;

/**
 * Writes frames that Kafka's own classes of 4.4 make, a line each: API, version, side, hex. They are
 * those that a recorded quorum doesn't say by itself: with fields that are not at their default.
 */
public class KafkaFrames {
    private static final String CLUSTER = "kraftlake-wire-golden0";

    public static void main(String[] arguments) {
        request(ApiKeys.API_VERSIONS, new ApiVersionsRequestData().setClientSoftwareName("java")
            .setClientSoftwareVersion("4.4.0").setClusterId(CLUSTER).setNodeId(3));
        response(ApiKeys.API_VERSIONS, new ApiVersionsResponseData()
            .setErrorCode(Errors.REBOOTSTRAP_REQUIRED.code()));
        request(ApiKeys.ADD_RAFT_VOTER, added(false));
        request(ApiKeys.ADD_RAFT_VOTER, added(true));
        response(ApiKeys.ADD_RAFT_VOTER, new AddRaftVoterResponseData()
            .setErrorCode(Errors.DUPLICATE_VOTER.code()).setErrorMessage("there"));
        request(ApiKeys.UNREGISTER_CONTROLLER, new UnregisterControllerRequestData().setControllerId(3));
        response(ApiKeys.UNREGISTER_CONTROLLER, new UnregisterControllerResponseData());
        response(ApiKeys.UNREGISTER_CONTROLLER, new UnregisterControllerResponseData()
            .setThrottleTimeMs(7).setErrorCode(Errors.CONTROLLER_ID_NOT_REGISTERED.code())
            .setErrorMessage("gone"));
    }

    private static AddRaftVoterRequestData added(boolean ackWhenCommitted) {
        AddRaftVoterRequestData data = new AddRaftVoterRequestData().setClusterId(CLUSTER)
            .setTimeoutMs(30000).setVoterId(4)
            .setVoterDirectoryId(Uuid.fromString("kraftlake-golden-dir4A"))
            .setAckWhenCommitted(ackWhenCommitted);
        for (String name : List.of("CONTROLLER", "EXTERNAL")) {
            data.listeners().add(new AddRaftVoterRequestData.Listener().setName(name)
                .setHost("127.0.0.1").setPort(65535));
        }
        return data;
    }

    private static void request(ApiKeys api, ApiMessage message) {
        short version = api.latestVersion();
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(api.id)
            .setRequestApiVersion(version).setCorrelationId(9).setClientId("golden");
        print(api, "request", RequestUtils.serialize(header, api.requestHeaderVersion(version), message, version));
    }

    private static void response(ApiKeys api, ApiMessage message) {
        short version = api.latestVersion();
        ResponseHeaderData header = new ResponseHeaderData().setCorrelationId(9);
        print(api, "response", RequestUtils.serialize(header, api.responseHeaderVersion(version), message, version));
    }

    private static void print(ApiKeys api, String side, ByteBuffer frame) {
        byte[] bytes = new byte[frame.remaining()];
        frame.get(bytes);
        System.out.println(String.join(" ", String.valueOf(api.id), String.valueOf(api.latestVersion()),
            side, HexFormat.of().formatHex(bytes)));
    }
}
